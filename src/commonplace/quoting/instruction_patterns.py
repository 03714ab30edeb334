"""What texts look like that give orders to a model: patterns for RE2, matched without regard to case.

Each is written for the plain text; `"` may be escaped, as inside of JSON. Words that developers use every day ("ignore
the previous error", "run the following command") must not match: tests/quoting has both kinds of texts.
"""
# ruff: noqa: RUF001 - words of other languages have letters that look like Latin ones

_GAP = r"[^.\n]{0,%d}?"
_QUOTE = r"\\*[\"']"
LINE_START = r"(?:^|\n|\\n|: |['\"])[ \t>*-]*"

_STRONG_NOUN = r"(?:instructions?|prompts?|directives?|guidelines?|orders|guard ?rails?|programming|training|safeguards?)"
_WEAK_NOUN = (
    r"(?:rules?|restrictions?|constraints?|polic(?:y|ies)|safety|commands|boundaries|limitations?|filters?)"
)
_EARLIER = r"(?:previous|prior|earlier|above|preceding|existing|former|foregoing|past|initial|original|old)"
_IGNORE = r"\b(?:ignore|disregard|forget|override|overrule|bypass|neglect|discard|abandon|circumvent|do not follow|don'?t follow|stop following|pay no attention to)"

OVERRIDES = (
    rf"{_IGNORE}(?: \w+){{0,4}} (?:{_EARLIER}|all|any|every|your|other|system|these|those|the)(?: \w+){{0,3}} {_STRONG_NOUN}",
    rf"{_IGNORE} (?:all |any |every |of |the ){{0,3}}(?:your|{_EARLIER})(?: \w+){{0,2}} {_WEAK_NOUN}",
    rf"{_IGNORE} (?:all|any|every)(?: of)?(?: the| your)? (?:previous|prior|earlier|above|preceding)\b",
    rf"{_IGNORE} (?:everything|anything|whatever|all that|what)(?: \w+){{0,3}} (?:above|before|said|told|learned|wrote|so far|earlier|previously)",
    r"\b(?:follow|obey|comply with|carry out|adhere to) (?:only |just )?(?:these|this|my|the new|the below)(?: \w+){0,2} (?:instructions?|orders?|commands?|directives?|prompts?)",
    r"\b(?:execute|obey) (?:the following|all|every)(?: \w+){0,2} (?:instructions?|orders?|directives?)",
    r"\bnew (?:\w+ )?(?:instructions?|directives?|orders?|prompt)\s*(?:\w+ )?:",
    r"\b(?:this|these|the following)(?: \w+){0,2} (?:overrides?|supersedes?|replaces?|takes? precedence over|takes? priority over|has priority over|outranks?)(?: \w+){0,3} (?:your|previous|prior|earlier|the system|instructions?|prompt|guidelines)",
    r"\b(?:higher|highest|top|maximum)[ -]priority (?:instructions?|directives?|orders?|override)",
    r"\b(?:system|security|admin|administrator|operator|root|policy|emergency) (?:override|directive|instruction)s?\b",
    r"\b(?:disable|turn off|switch off|deactivate|bypass|circumvent) (?:all|your|any|every) (?:\w+ )?(?:safety|security|guard ?rails?|guards?|hooks?|permissions?|restrictions?|filters?|checks?|sandbox(?:ing)?|masking|safeguards?)",
)

ROLES = (
    r"\byou are (?:now|no longer) (?:an? |the |my |going to |acting |operating |running as |root|admin|dan\b|unrestricted|free to|called|authori[sz]ed|bound by|restricted|limited by|in \w+ mode)",
    r"\b(?:act|behave|respond|operate|speak) as (?:an? |the |if you (?:are|were) (?:an? |the )?)?(?:\w+ )?(?:admin|administrator|root|system|developer|superuser|dan\b|unrestricted|uncensored|jailbroken|project owner|operator|different (?:ai|assistant|model))\b",
    r"\b(?:pretend|imagine|assume)(?: that)? (?:to be|you(?:'re| are| have| can))\b",
    r"\bfrom now on,? (?:you|act|always|never|ignore|reply|respond|answer|obey|treat (?:me|this)|all agents|every agent)\b",
    r"\byour (?:new|real|true|actual|updated|only|sole|primary|hidden|secret) (?:task|goal|objective|instructions?|role|job|mission|purpose|orders?|directives?|identity)\b",
    r"\b(?:developer|god|dan|unrestricted|jailbreak|sudo|root|maintenance|override) mode (?:is |now |has been ){0,2}(?:on|enabled|activated|active|engaged|unlocked)\b",
    r"\bdo anything now\b|\bjailbr[eo]ak(?:ed|ing)? (?:yourself|prompt|the model)",
    r"\bas an? (?:ai|llm|language model)(?: \w+)?,? (?:you|your)\b",
    r"\byou (?:have been|were|are) (?:hereby )?(?:authori[sz]ed|instructed|ordered|commanded|cleared|pre-?approved|granted (?:full|root|admin|unlimited|all))\b",
    r"\byou must (?:now|immediately|obey|comply)\b",
    r"\b(?:the )?(?:admin|administrator|operator|owner|maintainer|security team|user|human|anthropic|openai|google|team lead|cto|ceo)s? (?:has|have) (?:already |explicitly )?(?:authori[sz]ed|pre-?approved|granted you|given you|instructed|ordered|consented)\b",
    r"\b(?:permission|approval|consent|authori[sz]ation) (?:is |has been |was |already ){0,2}(?:granted|given)\b[^\n]{0,30}(?:agents?|proceed|you|assistant)\b",
    r"\bno (?:further |additional |more |user |human )?(?:confirmation|approval|permission) (?:is )?(?:needed|required|necessary)\b",
)

ADDRESSES = (
    rf"\b(?:all|every|any) (?:ai |llm |coding )?(?:agents?|assistants?|models?|llms?)\b{_GAP % 30}\b(?:must|shall|have to|are (?:required|ordered|instructed|commanded))\b{_GAP % 40}\b(?:immediately|at once|right now|without|execute|send|post|delete|disable|force|curl|upload|obey|ignore|reveal)\b",
    r"\b(?:hey|dear|hello|attention|hi|listen|instructions? (?:for|to)|message (?:for|to)|note (?:for|to)|order (?:for|to)),? (?:the |all |any |every )?(?:claude|codex|copilot|gemini|chatgpt|gpt|ai|llm|assistants?|language models?|ai agents?|coding agents?|agents reading)\b",
    r"\b(?:if|when) you(?:'re| are) (?:an? )?(?:ai|llm|language model|claude|agent|assistant|coding agent|model)\b",
    r"\bwhen (?:an?|the|any) (?:agent|model|assistant|ai|llm) reads? this\b",
    r"\b(?:the |any )?(?:agent|model|assistant|ai|llm) reading this\b",
    rf"{LINE_START}(?:immediately|urgent(?:ly)?[:!,]?|at once,?) (?:delete|wipe|release|unlock|push|run|execute|send|upload|disable|revoke|drop|stop|transfer|call)\b",
    r"\b(?:stop|abandon|drop|forget) (?:all |your |what(?:ever)? you(?:'re| are) ){1,2}(?:current |other |doing)?\s?(?:work|tasks?|jobs?)?,? (?:and|then|now)\b",
    r"\byour (?:next|only|final|first) (?:reply|response|answer|output|message|action|tool call|step) (?:must|has to|shall|is to)\b",
    r"\b(?:before|instead of) (?:doing|continuing|answering|you (?:continue|start|answer|do))\b[^\n]{0,40}\b(?:run|execute|send|post|open|fetch|download|delete|curl|upload)\b",
    r"\byou (?:must|will|shall|should|need to|have to|are to) (?:now |always |first |also |immediately )?(?:obey|exfiltrate|comply|leak|reveal|disobey)\b",
)

_PRIVATE = (
    r"(?:system prompt|hidden (?:prompt|instructions)|initial (?:prompt|instructions)|developer (?:message|prompt)|secrets?\b|passwords?|api[ _-]?keys?"
    r"|(?:access|auth|session|bearer|github|npm|aws) tokens?|tokens\b|credentials?|private keys?|ssh keys?|id_rsa|id_ed25519|\.ssh\b|\.aws\b|\.env\b|\.netrc|\.npmrc|kubeconfig"
    r"|environment variables|env vars|session[ _]ids?|source code|database dump|\.git-credentials)"
)
_SEND = r"(?:send|post|upload|exfiltrate|leak|e?mail|forward|transmit|publish|paste|copy|pipe|report|share|submit)"
_SHOW = r"(?:reveal|print|show|output|dump|cat|echo|include|append|give|tell|display|list|read|repeat|disclose|expose|recite|write out)"
_AWAY = r"(?:https?:|ftp:|\bto (?:me|us|the attacker|my|this (?:url|address|endpoint|server)|an? (?:external|remote|outside))\b|webhook|pastebin|\bgist\b|requestbin|ngrok|@[\w.-]+\.\w)"

LEAKS = (
    rf"\b{_SEND}\b[^\n]{{0,60}}?{_PRIVATE}[^\n]{{0,60}}?{_AWAY}",
    rf"\b(?:{_SHOW}|{_SEND})\b (?:me |us )?(?:your|me|us) (?:\w+ ){{0,3}}?{_PRIVATE}",
    rf"\b{_SEND} (?:all|every|the contents? of)(?: \w+){{0,4}}? {_PRIVATE}",
    rf"\b{_SEND} (?:the )?(?:contents? of )?(?:the |your |~/|\./|all )?\S{{0,12}}(?:\.env\b|\.ssh|id_rsa|id_ed25519|\.aws|\.netrc)",
    rf"\b(?:{_SHOW}|{_SEND})\b(?: \w+){{0,4}}? (?:system prompt|hidden (?:prompt|instructions)|developer (?:message|prompt)|your (?:full |entire |exact )?(?:instructions|prompt|guidelines))",
    rf"\b(?:read|open|cat|load|collect|gather|find|grab|take)\b[^\n]{{0,40}}?{_PRIVATE}[^\n]{{0,40}}?\b(?:and|then)\b[^\n]{{0,20}}?\b(?:send|post|upload|exfiltrate|e?mail|forward|transmit|publish|leak)\b",
    r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]+[?&](?:data|q|leak|secret|token|env|key|exfil|s|d|c|p|payload|x)=",
    r"https?://[^\s)\"']+[?&/=](?:\{|\$\(|\$\{|\$[A-Z]|<|%7B|%24)[^\s]*(?:secret|key|token|env|data|history|context|prompt|memory|conversation)",
    r"<img\b[^>]{0,200}\b(?:onerror|src\s*=\s*\\*[\"']?https?://[^>\s]+\?)",
)

CONCEALMENTS = (
    r"\b(?:do not|don'?t|never|must not|without) (?:tell(?:ing)?|inform(?:ing)?|alert(?:ing)?|mention(?:ing)? (?:this|it|that)(?: to)?|reveal(?:ing)? (?:this|it|that)(?: to)?|let) (?:the |your |any |an? )?(?:users?|humans?|anyone|anybody|operators?|owner|developer|maintainers?|person|reviewers?|other agents?|team)\b",
    r"\bkeep (?:this|it|that) (?:secret|hidden|quiet|between us|confidential|from)\b",
    r"\b(?:secretly|quietly|covertly|stealthily) (?:\w+ )?(?:run|execute|send|upload|delete|push|install|add|copy|exfiltrate|insert|commit)\b",
    r"\bsilently (?:upload|exfiltrate|send|post|forward|copy|push|execute)\b",
    rf"\b(?:run|execute|push|merge|delete|commit|proceed|continue|approve|accept|deploy|install|apply|send|upload|force)\b{_GAP % 60}\bwithout (?:asking|telling|informing|notifying|waiting for|seeking|requiring|any|user|human)(?: \w+){{0,2}} (?:users?|humans?|operators?|permission|confirmation|approval|anyone|owner|review|consent)\b",
    r"\b(?:do not|don'?t|never) (?:mention|reveal|disclose|discuss|acknowledge) (?:this|these|that you|the existence|having)\b",
)

COMMANDS = (
    r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|]{0,200}\|\s*(?:sudo )?(?:(?:ba|z|da|k)?sh|python3?|perl|node|iex|source)\b",
    r"\b(?:ba|z)?sh\s+(?:-c\s+)?\\*[\"']?(?:<\(|\$\()\s*(?:curl|wget)",
    r"\beval\s*\(?\\*[\"']?\s*(?:\$\(|atob|base64)",
    r"\bbase64\s+(?:-d|-D|--decode)\b[^\n]{0,60}\|\s*(?:sudo )?(?:ba|z)?sh\b",
    r"\brm\s+-(?:rf|fr|r -f|f -r)\s+(?:--no-preserve-root\s+)?(?:/|~|\$HOME|\*|\.(?:\s|$)|\.git\b)(?:\s|$|[;&|\"'`/*.,)])",
    r":\(\)\s*\{\s*:\s*\|\s*:|/dev/tcp/|\bnc\s+(?:-\w+\s+)*-e\b|\bbash\s+-i\s*>&",
    r"\b(?:with|use|using|add|run|set|enable|pass|restart)\b[^\n]{0,40}(?:--dangerously[\w-]*|bypasspermissions|--yolo\b)",
    r"\b(?:decode|decrypt|unscramble|base64|rot13)\b[^\n]{0,80}\b(?:and|then)\b[^\n]{0,30}\b(?:run|execute|follow|obey|eval|do (?:it|what|as)|act on|comply)\b",
    r"\b(?:fetch|download|visit|open|browse|curl|get|load|read|go to)\b[^\n]{0,40}https?://\S+[^\n]{0,50}\b(?:and|then)\b[^\n]{0,20}\b(?:follow|execute|run|obey|do what|eval|comply|install)\b",
    r"\b(?:use|call|invoke) (?:the |your )?(?:bash|shell|terminal|exec) tool (?:to|and|with|now)\b",
)

FAKE_STRUCTURE = (
    r"</?(?:system|assistant|user|human|instructions?|memory|important|developer|admin)>",
    r"</?(?:system[-_ ]?(?:reminder|prompt|message|note|instruction|override|warning)s?|tool[-_]?(?:results?|responses?|outputs?|calls?|use)|function[-_]?(?:results?|calls?|responses?)|antml:\w+|invoke|untrusted[-_]context|hook[-_](?:context|prompt)|task-notification|command-(?:name|message|args)|(?:end_)?quoted|commonplace[-_\w]*|guidelines?|agent[-_]?instructions?)\b[^>\n]{0,100}>",
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|begin_of_text|channel|message|tool)\|?>?",
    r"\[/?(?:system|inst|sys)\]|<</?sys>>|\[system (?:message|prompt|note|override|notice)",
    rf"{LINE_START}(?:#{{2,}}\s*(?:system|assistant|human|instructions?)\s*:|(?:human|assistant)\s*:\s|\[?(?:system|admin|operator)\]? ?(?:prompt|message|instructions?|override|notice|update|alert|note|directive)?s?\s*:\s*(?:you|ignore|the user|new|all|from now|run|execute|do not|disregard|override|grant|your|agents?))",
    r"\bsystem (?:prompt|message|instruction|override|directive)s?\s*:",
    r"[-=#*_]{3,}\s*(?:begin|end|start)(?: of)? (?:\w+ )?(?:prompt|instructions?|message|context|system|quot\w*|data|user input|memory|tool\w*)",
    rf"{_QUOTE}role\\*[\"']\s*:\s*\\*[\"'](?:system|assistant|developer|tool)\\*[\"']",
    rf"{_QUOTE}(?:hookSpecificOutput|permissionDecision|additionalContext|hookEventName|tool_use_id|updatedInput|systemMessage|_notice|action_needed|_by|registry_warning|permissionDecisionReason)\\*[\"']\s*:",
    rf"{_QUOTE}decision\\*[\"']\s*:\s*\\*[\"'](?:block|approve|allow|deny)\\*[\"']",
    rf"{_QUOTE}(?:guidelines|handoff|content|result)\\*[\"']\s*:\s*\[\s*\{{\s*\\*[\"'](?:name|rule|type|text)\\*[\"']\s*:",
    r"\b(?:tool|function)[ _](?:result|response|call)s?\s*(?:\(\w*\)\s*)?:\s",
    r"\byou are the agent \S+ in the project\b|\byour session is already started\b|\bas memory_start_session returned\b",
    r"\b(?:action_needed|registry_warning|_notice)\s*[:=]",
    r"<!--[^\n]{0,300}?\b(?:instructions?|ignore|agents?|assistant|system|you must|execute|ai|model|llm|prompt|curl|claude)\b",
    r"<\w+[^>\n]{0,200}style\s*=\s*\\*[\"'][^\"'>\n]{0,100}(?:display\s*:\s*none|font-size\s*:\s*0|visibility\s*:\s*hidden|opacity\s*:\s*0|color\s*:\s*(?:white|#fff))",
    r"\[//\]:\s*#|\]\((?:javascript|data|vbscript):",
    rf"{LINE_START}\[[^\]\n]*\]:\s*#\s*[(\"']",
    r"\b(?:end of|end) (?:quot\w+|untrusted|document|user input|the (?:document|message|quotation)|data)\b[^\n]{0,20}(?:new|now|instructions?|system|begin|follow)",
)

DISGUISES = (
    r"\b(?:[1!|][g9]n[o0]r[e3]|[i1!|]9n[o0]r[e3]|[i1!|][g9]n0r[e3]|[i1!|][g9]n[o0]r3)\b[^\n]{0,30}\b(?:pr[e3]v[i1!][o0]u[s5]|[i1!]n[s5][t7]ruc[t7][i1!][o0]n|ru[l1][e3]s)",
    r"\bi[ ._*-]g[ ._*-]n[ ._*-]o[ ._*-]r[ ._*-]e\b",
    r"snoitcurtsni|erongi\b|suoiverp",
    r"\bvtaber\b|vafgehpgvba|cerivbhf",
    r"\bignor(?:ay|eay)\b",
)

OTHER_LANGUAGES = (
    r"\bignor(?:a|e|i|en|ez|iere|ieren sie|are|ate|ér|ujte?|uj) (?:\S+ ){0,4}(?:instruc\w+|instru[cç]\S+|anweisungen|instructies|istruzioni|pokyny|instrukcj\S+|consignes|regeln|regl\S+|indicaciones|r[eè]gles|órdenes|ordres|vorgaben|instruktion\S*|instruc[tț]iuni\S*)",
    r"\b(?:olvid\w+|oublie\w*|vergiss|vergesst|dimentica\w*|esque[cç]a\w*|vergeet|zapomnij|zapome\S+|glöm|unohda|uita[tț]?i?) (?:\S+ ){0,4}(?:instruc\w+|instru[cç]\S+|anweisungen|instructies|istruzioni|instrukcj\S+|consignes|regeln|reglas|regole|regras|vorherige\w*|bisherige\w*|anterior\w*|pr[eé]c[eé]dent\w*|precedent\w*|tidigare)",
    r"\b(?:vorherigen|bisherigen|vorangegangenen|obigen) (?:\S+ )?(?:anweisungen|instruktionen|regeln|befehle)",
    r"\b(?:instrucciones|instructions|instru[cç][oõ]es|istruzioni|indicaciones|consignes|instruções) (?:\S+ )?(?:anteriores|pr[eé]c[eé]dentes|precedenti|previas)",
    r"\b(?:negeer|ignorera|glöm|bortse från|ignorér|zignoruj|přehlédni|önceki|abaikan|bỏ qua|jätä huomiotta) (?:\S+ ){0,4}(?:instruc\S+|instrukt\S+|talimat\S*|instruksi|hướng dẫn|pokyn\S*|polece\S+|ohjee\S*|ohje\S*|komut\S*)",
    r"\b(?:no (?:le )?(?:digas|informes|menciones)|ne (?:le )?(?:dis|dites|mentionne[zs]?) (?:pas|rien)|sag(?:e|en sie)? (?:es )?(?:dem|der) (?:benutzer|nutzer|anwender)|non dirlo|não (?:conte|diga|informe))",
    r"\b(?:ahora eres|tu es maintenant|du bist (?:jetzt|nun)|ora sei|agora você é|jesteś teraz|vous êtes (?:maintenant|désormais))\b",
    r"\b(?:env[ií]a|envoie|envoyez|sende|schicke|invia|envie|verstuur|wyślij)\b[^\n]{0,60}(?:contraseñ\w+|claves?|mots? de passe|passw\w+|schlüssel|zugangsdaten|geheimnisse|senhas?|chaves?|credencia\w+|credenzial\w+|\.env|tokens?|secret\w*|hasła)",
    r"(?:игнорир|проигнорир|забудь|не обращай внимания|ігнору|забудь)\S*[^\n]{0,40}(?:инструкц|указани|правил|команд|предыдущ|интсрукц|інструкц|попередн|вказівк)",
    r"(?:отправь|пришли|вышли|надішли)\S*[^\n]{0,60}(?:парол|ключ|секрет|токен|\.env)",
    r"(?:теперь ты|ты теперь|с этого момента|не говори (?:пользователю|никому)|не сообщай)",
    r"(?:忽略|无视|無視|忘记|忘記|不要理会|绕过|請忽略)[^\n]{0,20}(?:指令|指示|提示|规则|規則|说明|要求|内容|設定)",
    r"(?:之前|以上|先前|上述|前面)的?(?:所有)?(?:指令|指示|提示词)",
    r"(?:你现在是|你現在是|从现在开始|從現在開始|不要告诉(?:用户|任何人)|不要告訴|发送[^\n]{0,20}(?:密钥|密码|令牌|凭证))",
    r"(?:以前|これまで|上記|前|すべて)の?[^\n]{0,6}(?:指示|命令|プロンプト|ルール)[^\n]{0,8}(?:無視|忘れ|従わ)",
    r"(?:あなたは今|今からあなたは|ユーザーに(?:は)?(?:言わ|伝え|知らせ)|(?:パスワード|秘密鍵|APIキー|トークン)[^\n]{0,12}(?:送信|送って))",
    r"(?:이전|위의?|앞선|모든)\s*[^\n]{0,8}(?:지시|명령|지침|프롬프트|규칙)[^\n]{0,10}(?:무시|잊)",
    r"(?:지금부터 (?:너는|당신은)|사용자에게 (?:알리지|말하지)|(?:비밀번호|API 키|토큰)[^\n]{0,12}(?:보내|전송))",
    r"(?:تجاهل|انس|أهمل)[^\n]{0,30}(?:التعليمات|الأوامر|السابقة|القواعد|الإرشادات)",
    r"(?:أرسل|ارسل)[^\n]{0,40}(?:كلمة المرور|كلمات المرور|المفاتيح|الأسرار|\.env)",
    r"(?:התעלם|התעלמי|שכח)[^\n]{0,30}(?:ההוראות|הנחיות|הקודמות)",
    r"(?:पिछले|पिछली|पूर्व|ऊपर के|सभी)[^\n]{0,20}(?:निर्देश|आदेश|नियम)[^\n]{0,20}(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|ध्यान न)",
    r"(?:önceki|yukarıdaki|tüm)[^\n]{0,20}(?:talimat|komut|kural)\S*[^\n]{0,15}(?:yok say|görmezden|unut|dikkate alma)",
    r"(?:bỏ qua|hãy quên|phớt lờ)[^\n]{0,30}(?:hướng dẫn|chỉ thị|lệnh|quy tắc)",
    r"(?:abaikan|lupakan)[^\n]{0,30}(?:instruksi|perintah|petunjuk|aturan)",
    r"(?:ละเว้น|เพิกเฉย|ลืม)[^\n]{0,30}(?:คำสั่ง|คำแนะนำ)",
    r"(?:αγνόησε|αγνοήστε|ξέχασε)[^\n]{0,30}(?:οδηγίες|εντολές|προηγούμεν)",
    r"(?:نادیده بگیر|فراموش کن)[^\n]{0,30}|(?:دستورات|دستورالعمل)[^\n]{0,20}(?:قبلی|نادیده)",
)

ALL_PATTERNS = (
    *OVERRIDES,
    *ROLES,
    *ADDRESSES,
    *LEAKS,
    *CONCEALMENTS,
    *COMMANDS,
    *FAKE_STRUCTURE,
    *DISGUISES,
    *OTHER_LANGUAGES,
)
