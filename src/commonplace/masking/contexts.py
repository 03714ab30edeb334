"""Secrets that the words around them give away, other than by a name: key blocks, addresses, headers, commands.

A pattern has the group `secret`, which is replaced; the rest stays. `placeholders.py` judges what it matched, unless the
place alone is proof. Values with a name: `assignments.py`.
"""

from dataclasses import dataclass

_QUOTE = r"\\{0,8}[\"']"
_IS = r"\s{0,3}[:=]\s{0,3}"
_LINE = r"(?:\n|\\{1,4}[nr])"
# What tools put before a line: its number and an arrow, a diff mark, a quote mark.
_PREFIX = (
    r"(?:[ \t]{0,20}\d{0,6}(?:→|\\u2192|\t|\\t|:|\||│)?[ \t]{0,8}[+\-> |*#]{0,4}[ \t]{0,20}(?:\\{0,7}[\"'])?)"
)
_BLOCK_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_BLOCK_END = r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_ARGUMENT = r"(?:\\{0,7}[\"'])?(?P<secret>[^\s\"'\\<>]{4,200})"
_WORD_START = r"(?:\b|(?<=\\[nrt]))"


@dataclass(frozen=True, slots=True)
class SecretContext:
    kind: str
    sign: str
    """RE2; in every text that the pattern matches."""
    pattern: str
    is_proof: bool = False
    """Whatever stands there is a secret."""
    is_random: bool = False
    """Only what looks random is one: the place is common."""


def _password_of_command(sign: str, command: str, before: str) -> SecretContext:
    """A password that a command takes after `before`."""
    return SecretContext("password", sign, rf"{_WORD_START}{command}[^\n\\|;]{{0,300}}?{before}{_ARGUMENT}")


CONTEXTS = (
    SecretContext(
        "private key",
        "PRIVATE KEY",
        rf"(?P<secret>{_BLOCK_BEGIN}(?=(?:(?!-----END)[\s\S]){{0,400}}?[A-Za-z0-9+/=]{{4}})(?=(?:(?!-----(?:BEGIN|END) )[\s\S]){{0,20000}}?{_LINE})(?:(?!-----(?:BEGIN|END) )[\s\S]){{0,40000}}?{_BLOCK_END})",
        is_proof=True,
    ),
    SecretContext(
        "private key",
        "PRIVATE KEY",
        rf"(?P<secret>{_BLOCK_BEGIN}(?:{_LINE}{_PREFIX}(?:[A-Za-z\-]{{4,20}}: [^\n\\\"]{{1,100}}|[A-Za-z0-9+/=]{{8,120}}(?![A-Za-z0-9+/=]))?){{1,800}}(?<=[A-Za-z0-9+/=]))",
        is_proof=True,
    ),
    SecretContext(  # a block that is read from its middle
        "private key",
        "-----END [A-Z0-9 ]{0,30}PRIVATE KEY",
        rf"(?<![A-Za-z0-9+/=-])(?P<secret>[A-Za-z0-9+/=]{{8,120}}{_LINE}(?:{_PREFIX}[A-Za-z0-9+/=]{{4,120}}{_LINE}){{0,800}})(?={_PREFIX}{_BLOCK_END})",
        is_proof=True,
    ),
    SecretContext(
        "private key",
        r"(?i:tls\.key|ssh-privatekey)",
        rf"(?i:tls\.key|ssh-privatekey)(?:{_QUOTE})?:\s{{0,3}}(?:{_QUOTE})?(?P<secret>[A-Za-z0-9+/]{{40,8000}}={{0,2}})",
        is_proof=True,
    ),
    SecretContext(
        "private key",
        "0x[0-9a-fA-F]{64}",
        r"(?i:priv(?:ate)?[_ -]?key|secret|signer|deployer|wallet|mnemonic|account)[^\n\\]{0,40}?(?P<secret>0x[0-9a-fA-F]{64})\b",
        is_proof=True,
    ),
    SecretContext(
        "master key",
        r"(?i:master\.key|credentials/\w+\.key)",
        rf"(?i:master\.key|credentials/\w+\.key)[^\n\\]{{0,60}}{_LINE}{_PREFIX}(?P<secret>[0-9a-f]{{32}})\b",
        is_proof=True,
    ),
    SecretContext(
        "signature",
        r"(?i:X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token)=",
        r"(?i:X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token)=(?P<secret>[A-Za-z0-9%+/=_\-]{40,4000})",
        is_proof=True,
    ),
    SecretContext(
        "signature",
        "AWSAccessKeyId=",
        r"[?&]AWSAccessKeyId=[^\s\"']{0,200}?&Signature=(?P<secret>[A-Za-z0-9%+/=_\-]{20,200})",
        is_proof=True,
    ),
    SecretContext(
        "password",
        r"(?i:auth\s?=\s?\(|BasicAuth\(|login\()",
        rf"(?i:\bauth\s?=\s?\(|BasicAuth\(|\.login\()\s?{_QUOTE}[^\"'\\\n]{{1,64}}{_QUOTE}\s?,\s?{_QUOTE}(?P<secret>[^\"'\\\s]{{6,128}})(?={_QUOTE})",
    ),
    SecretContext(  # variable "db_password" { default = "..." }
        "secret",
        r"(?i:variable\s)",
        rf"(?i:variable\s{{1,3}}{_QUOTE}\w{{0,60}}(?:password|passwd|secret|token|key)\w{{0,20}}{_QUOTE}\s?\{{)(?:[^{{}}]{{0,400}}?)\bdefault\s{{0,12}}=\s{{0,3}}{_QUOTE}(?P<secret>[^\"'\\\s]{{6,400}})(?={_QUOTE})",
    ),
    SecretContext(  # an output of a state file: "db_password": {"value": "..."
        "secret",
        r"(?i:(?:password|passwd|secret|token|_key)\w{0,20}\\{0,7}\":\s{0,3}\{)",
        rf"(?i:{_QUOTE}\w{{0,60}}(?:password|passwd|secret|token|_key)\w{{0,20}}{_QUOTE}:\s{{0,3}}\{{)[^{{}}]{{0,120}}?(?i:{_QUOTE}value{_QUOTE}:)\s{{0,3}}{_QUOTE}(?P<secret>[^\"'\\\s]{{6,400}})(?={_QUOTE})",
    ),
    SecretContext(
        "private key",
        "Private-Lines",
        rf"(?i:private-lines): ?\d{{1,3}}(?P<secret>(?:{_LINE}{_PREFIX}[A-Za-z0-9+/=]{{4,80}}(?={_LINE}|\"|$)){{1,200}})",
        is_proof=True,
    ),
    SecretContext("private key", "Private-MAC", r"Private-MAC: ?(?P<secret>[0-9a-f]{32,64})", is_proof=True),
    SecretContext(
        "password in an address",
        r"://[^\s]*:[^\s]+@",
        r"(?<=://)(?P<secret>(?P<user>[^\s:/@\"'\\<>]{0,64}):(?P<password>(?!\d{1,5}/)[^\s\"'\\<>]{1,128}))(?=@[A-Za-z0-9.\-\[])",
    ),
    SecretContext(
        "password in an address",
        "(?i:jdbc:oracle)",
        r"(?i:jdbc:oracle:\w+:)[^\s/@]{1,64}/(?P<secret>[^\s@\"'\\]{3,64})(?=@)",
    ),
    SecretContext(
        "password in an address",
        "(?i:otpauth://)",
        r"(?i:otpauth://)[^\s\"'\\]{1,200}?[?&]secret=(?P<secret>[A-Za-z2-7]{16,128})",
        is_proof=True,
    ),
    SecretContext(
        "authorization",
        "(?i:authorization)",
        rf"(?i:authorization)(?:{_QUOTE})?{_IS}(?:{_QUOTE})?(?i:bearer|basic|token|apikey)\s{{1,3}}(?P<secret>[A-Za-z0-9._~+/\-]{{8,4000}}={{0,2}})",
    ),
    SecretContext(
        "authorization",
        r"(?i:bearer\s)",
        r"(?i:\bbearer\s{1,3})(?P<secret>[A-Za-z0-9._~+/\-]{16,4000}={0,2})",
        is_random=True,
    ),
    SecretContext(
        "authorization",
        "(?i:api-key|-token)",
        rf"(?i:x-api-key|api-key|x-auth-token|private-token|x-write-token|security-token)(?:{_QUOTE})?{_IS}(?:{_QUOTE})?(?P<secret>[A-Za-z0-9._~+/\-]{{16,4000}}={{0,2}})",
    ),
    SecretContext(
        "azure key",
        "(?i:accountkey|sharedaccesskey)=",
        r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,90}={0,2})",
    ),
    SecretContext(
        "aws secret",
        "(?i:aws_secret_access_key|secretaccesskey|secret_access_key)",
        rf"(?i:secret_?access_?key)(?:{_QUOTE})?(?:{_IS}|\s)(?:{_QUOTE})?(?P<secret>[A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+])",
    ),
    SecretContext(
        "password", "(?i:identified by)", rf"(?i:identified by)\s{{1,3}}(?=\\{{0,7}}['\"]){_ARGUMENT}"
    ),
    SecretContext("password", "(?i:set password)", rf"(?i:set password)[^\n=\\]{{0,80}}=\s?{_ARGUMENT}"),
    _password_of_command(
        r"curl\s.{0,300}-u|curl\s.{0,300}--(?:proxy-)?user|curl\s.{0,300}-U",
        r"curl\b",
        r"\s(?:-u|--user|--proxy-user|-U)[ =]?(?:\\{0,7}[\"'])?[^\s:\"'\\]{1,64}:",
    ),
    _password_of_command(r"(?:mysql|mariadb).{0,300}\s-p", r"(?:mysql\w*|mariadb[\w-]*)\b", r"\s-p"),
    _password_of_command("sshpass", r"sshpass\b", r"\s-p\s?"),
    _password_of_command(
        r"(?:docker|podman|az|twine|registry|skopeo|buildah|oras) (?:login|upload)\b",
        r"(?:docker|podman|az|twine|helm registry|skopeo|buildah|oras) (?:login|upload)\b",
        r"\s-p\s",
    ),
    _password_of_command("redis-cli", r"redis-cli\b", r"\s-a\s"),
    _password_of_command(r"ldap\w+\s", r"ldap\w+\b", r"\s-w\s"),
    _password_of_command(
        r"\s-U\s[^\s%]{1,64}%", r"(?:smbclient|net|rpcclient)\b", r"\s-U\s(?:\\{0,7}[\"'])?[^\s%\"'\\]{1,64}%"
    ),
    _password_of_command("htpasswd", r"htpasswd\b", r"\s-\w*b\w*\s[^\s]{1,200}\s[^\s]{1,64}\s"),
    _password_of_command("rabbitmqctl", r"rabbitmqctl\b", r"\s(?:add_user|change_password)\s[^\s]{1,64}\s"),
    _password_of_command(r"machine\s+\S+\s+login", r"machine\b", r"\slogin\s[^\s]{1,100}\spassword\s"),
    _password_of_command("pass:", "openssl", r"\s-pass(?:in|out)?\s(?:\\{0,7}[\"'])?pass:"),
    SecretContext("password", "requirepass", rf"(?:^|[\s>+\-→]|\\n)requirepass\s{_ARGUMENT}"),
    SecretContext(
        "password",
        r":\d{4,5}:",
        r"(?:^|[\s→+>\"]|\\n)[\w.*\-]{1,100}:\d{4,5}:[\w*\-]{1,64}:[\w\-]{1,64}:(?P<secret>[^\s:\"'\\<>]{6,128})(?=[\s\"\\]|$)",
        is_random=True,
    ),
    SecretContext(
        "password",
        r":(?:5432|5433|6432):",
        r"(?:^|[\s→+>\"]|\\n)[\w.*\-]{1,100}:(?:5432|5433|6432):[\w*\-]{1,64}:[\w\-]{1,64}:(?P<secret>[^\s:\"'\\<>]{6,128})(?=[\s\"\\]|$)",
    ),
    SecretContext(
        "password",
        r"(?i:(?:password|passphrase|passcode|token|api key|secret|credentials?)\s(?:for|of|to|on)\s)",
        r"(?i:password|passphrase|passcode|token|api key|secret|credentials?)\s(?i:for|of|to|on)\s[^\n\\:=]{1,60}?(?i:\s(?:is|was|are)|\s?[:=])\s{1,3}(?:\\{0,7}[\"'`])?(?P<secret>[^\s\"'`\\<>]{8,200})",
        is_random=True,
    ),
    SecretContext(
        "password",
        r"(?i:(?:log ?in|sign ?in|logged in|user(?:name)?) .{0,60}(?:password|pw|pass|with) )",
        r"(?i:(?:log ?in|sign ?in|logged in|authenticate)\s(?:as|with)\s)[^\s\\]{1,64}\s?(?i:/|,|and|with|using)?\s?(?i:the\s)?(?i:password|pw|pass)\s{1,2}(?:\\{0,7}[\"'`])?(?P<secret>[^\s\"'`\\<>]{8,200})",
        is_random=True,
    ),
    SecretContext("vault token", "vault login", rf"vault login\s{_ARGUMENT}", is_random=True),
    SecretContext(
        "password",
        r"(?i:(?:password|passphrase|token|api key|secret)\s(?:is|was|has|created|generated|issued|set))",
        r"(?i:password|passphrase|token|api key|secret)\s(?i:(?:is|was|has been|created|generated|issued|set to)[: ]{1,3}){1,2}(?:\\{0,7}[\"'`])?(?P<secret>[^\s\"'`\\<>]{8,200})",
        is_random=True,
    ),
    SecretContext(
        "password",
        "sudo -S",
        r"echo\s(?:\\{0,7}[\"'])?(?P<secret>[^\s\"'\\|<>]{4,100})(?:\\{0,7}[\"'])?\s?\|\s?sudo -S",
    ),
)
