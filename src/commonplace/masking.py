"""Secrets in text, by the formats that providers give them; each rule looks at a character a bounded number of times.

The text may be plain or the inside of a JSON line, where a quote is `\\"` and a line's end is `\\n`. No rule goes by
randomness alone: digests, commits and ids are everyday text here.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import re2


@dataclass(frozen=True, slots=True)
class MaskedText:
    text: str
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self.counts)


@dataclass(frozen=True, slots=True)
class MaskingRule:
    kind: str
    sign: str
    """In every secret of the kind; where it is not found the pattern need not be tried."""
    secret: str
    mask: str


_MIN_SECRET_CHARACTERS = 12
_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
_QUOTE = r"\\{0,8}[\"']"
_IS = r"\s{0,3}[:=]\s{0,3}"

# A kind, its sign, and what the secret looks like from its first character to its last.
_FORMATS = (
    ("1password token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{200,4000}={0,3}"),
    ("adobe secret", "p8e-", r"p8e-[A-Za-z0-9]{32}\b"),
    ("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    ("airtable token", r"pat[A-Za-z0-9]{14}\.", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    ("alibaba key id", "LTAI", r"LTAI[A-Za-z0-9]{20}\b"),
    ("anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9]{2,12}-[A-Za-z0-9_\-]{24,200}"),
    ("artifactory key", "AKCp", r"AKCp[A-Za-z0-9]{60,80}\b"),
    ("artifactory token", "cmVmd", r"cmVmd[A-Za-z0-9]{59}\b"),
    ("atlassian token", "ATATT3|ATCTT3|ATBB", r"(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_\-=]{24,250}"),
    ("aws key id", "AKIA|ASIA|ABIA|ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    ("aws bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{80,300}={0,2}"),
    ("azure secret", "Q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}"),
    ("clojars token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}\b"),
    ("cloudflare key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    ("commonplace key", "smk_", r"smk_[A-Za-z0-9_\-]{43}"),
    ("commonplace write token", "cwt_", r"cwt_[A-Za-z0-9_\-]{43}"),
    ("crates.io token", "cio[A-Za-z0-9]{32}", r"cio[A-Za-z0-9]{32}\b"),
    ("databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?\b"),
    ("digitalocean token", "doo_v1_|dop_v1_|dor_v1_|dot_v1_", r"do[oprt]_v1_[a-f0-9]{64}\b"),
    (
        "discord hook",
        "/api/webhooks/",
        r"https://(?:\w{3,6}\.)?discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w\-]{60,80}",
    ),
    ("docker token", "dckr_", r"dckr_[po]at_[A-Za-z0-9_\-]{27,40}"),
    (
        "doppler token",
        "dp.pt.|dp.st.|dp.ct.|dp.sa.|dp.scim.|dp.audit.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.]{40,60}\b",
    ),
    ("dynatrace token", "dt0c01.", r"dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}\b"),
    ("easypost key", "EZAK|EZTK", r"EZ[AT]K[A-Za-z0-9]{54}\b"),
    ("figma token", "figd_", r"figd_[A-Za-z0-9_\-]{40,64}"),
    ("fly.io token", "fo1_|fm1_|fm2_", r"(?:fo1|fm[12]r?)_[A-Za-z0-9_\-+/=]{43,500}"),
    ("frame.io token", "fio-u-", r"fio-u-[A-Za-z0-9_\-=]{64}"),
    ("github token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}\b"),
    ("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{60,255}\b"),
    (
        "gitlab token",
        "glpat-|gldt-|glrt-|glrtr-|glptt-|glcbt-|glimt-|glagent-|glsoat-|glffct-|gloas-",
        r"gl(?:pat|dt|rt|rtr|ptt|cbt|imt|agent|soat|ffct|oas)-[A-Za-z0-9_\-]{20,64}\b",
    ),
    ("google key", "AIza", r"AIza[A-Za-z0-9_\-]{35}"),
    ("google secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_\-]{28}"),
    ("google token", "ya29.", r"ya29\.[A-Za-z0-9_\-]{20,500}"),
    ("grafana token", "glsa_|glc_", r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2})"),
    ("groq key", "gsk_", r"gsk_[A-Za-z0-9]{48,56}\b"),
    ("heroku key", "HRKU-", r"HRKU-[A-Za-z0-9_\-]{36,70}"),
    (
        "hubspot token",
        "pat-na|pat-eu|pat-ap",
        r"pat-(?:na|eu|ap)\d-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}\b",
    ),
    ("huggingface token", "hf_[A-Za-z0-9]{30}", r"hf_[A-Za-z0-9]{30,50}\b"),
    ("infracost token", "ico-", r"ico-[A-Za-z0-9]{32}\b"),
    ("langsmith key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b"),
    ("linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}\b"),
    ("mailchimp key", r"-us\d", r"[a-f0-9]{32}-us\d{1,2}\b"),
    ("mailgun key", "key-[a-f0-9]{8}", r"key-[a-f0-9]{32}\b"),
    ("netlify token", "nfp_", r"nfp_[A-Za-z0-9]{36,40}\b"),
    ("new relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}\b"),
    ("notion token", "ntn_|secret_", r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})\b"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}\b"),
    ("nuget key", "oy2", r"oy2[a-z0-9]{43}\b"),
    ("openai key", "sk-proj-|sk-svcacct-|sk-admin-", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{24,250}"),
    ("openai key", "T3BlbkFJ", r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b"),
    ("openrouter key", "sk-or-", r"sk-or-v1-[a-f0-9]{64}\b"),
    ("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{48,56}\b"),
    ("planetscale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.=]{32,64}"),
    ("postman key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    ("prefect key", "pnu_", r"pnu_[A-Za-z0-9]{36}\b"),
    ("pulumi token", "pul-", r"pul-[a-f0-9]{40}\b"),
    ("pypi token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_\-]{50,1000}"),
    ("readme key", "rdme_", r"rdme_[a-z0-9]{70}\b"),
    ("replicate token", "r8_", r"r8_[A-Za-z0-9]{37}\b"),
    ("rubygems key", "rubygems_", r"rubygems_[a-f0-9]{48}\b"),
    ("sendgrid key", "SG.", r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}"),
    ("sentry token", "sntrys_|sntryu_", r"sntry[su]_[A-Za-z0-9+/=_\-]{50,400}"),
    ("shippo token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}\b"),
    ("shopify token", "shpat_|shpca_|shppa_|shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("slack token", "xoxa-|xoxb-|xoxe-|xoxo-|xoxp-|xoxr-|xoxs-", r"xox[abeoprs]-[A-Za-z0-9\-]{10,250}"),
    ("slack token", "xapp-", r"xapp-\d-[A-Z0-9]{5,20}-\d{5,20}-[a-f0-9]{30,100}"),
    (
        "slack hook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/+]{40,60}",
    ),
    ("sourcegraph token", "sgp_", r"sgp_(?:[a-f0-9]{16}_)?[a-f0-9]{40}\b"),
    ("square token", "sq0atp-|sq0csp-|sq0idp-", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,43}"),
    (
        "stripe key",
        "sk_live_|sk_test_|rk_live_|rk_test_|whsec_live_|whsec_test_",
        r"(?:sk|rk|whsec)_(?:live|test)_[A-Za-z0-9]{10,120}\b",
    ),
    ("stripe hook secret", "whsec_", r"whsec_[A-Za-z0-9+/]{32,64}={0,2}"),
    ("supabase key", "sbp_|sb_secret_", r"(?:sbp_[a-f0-9]{40}\b|sb_secret_[A-Za-z0-9_\-]{20,64})"),
    ("tavily key", "tvly-", r"tvly-[A-Za-z0-9_\-]{32,64}"),
    ("telegram token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_\-]{33}\b"),
    ("tencent key id", "AKID", r"AKID[A-Za-z0-9]{32}\b"),
    ("terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{60,72}"),
    ("twilio key", "SK[a-f0-9]{8}", r"SK[a-f0-9]{32}\b"),
    ("vault token", "hvs.|hvb.|hvr.", r"hv[sbr]\.[A-Za-z0-9_\-]{24,200}"),
    ("xai key", "xai-", r"xai-[A-Za-z0-9]{70,90}\b"),
    ("api key", "sk-", r"sk-[A-Za-z0-9]{32,64}\b"),
    (
        "json web token",
        ".eyJ",
        r"eyJ[A-Za-z0-9_\-]{10,2000}\.eyJ[A-Za-z0-9_\-]{10,4000}\.[A-Za-z0-9_\-]{10,1000}",
    ),
)

_PEM = r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_NAMED = "password|passwd|api[_-]?key|secret[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret"
_VARIABLE = r"[A-Z][A-Z0-9_]{0,60}?(?:PASSWORD|PASSWD|SECRET|API_KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|TOKEN)"

# A kind, its sign, what stands before the secret and remains, and the secret.
_PLACES = (
    (
        "private key",
        "PRIVATE KEY",
        "",
        _PEM
        + r"(?:[A-Za-z0-9+/=\s\\:,.@()]|-(?!----)){0,20000}-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
    ),
    (
        "private key",
        "PRIVATE KEY",
        "",
        _PEM + r"(?:(?:\\{1,4}[nr]|\s){1,4}[A-Za-z0-9+/=]{16,80}){1,500}(?![A-Za-z0-9+/=])",
    ),
    (
        "password in an address",
        r"://[^\s/@]*:[^\s/@]+@",
        r"(?<=://)",
        r"[^\s:/@\"'\\<>]{0,64}:[^\s/@\"'\\<>${*%:][^\s/@\"'\\<>]{2,127}(?=@[A-Za-z0-9.\-\[])",
    ),
    (
        "authorization",
        "(?i:authorization)",
        rf"(?i:authorization)(?:{_QUOTE})?{_IS}(?:{_QUOTE})?(?i:bearer|basic|token|apikey)\s{{1,3}}",
        r"[A-Za-z0-9._~+/\-]{8,4000}={0,2}",
    ),
    (
        "authorization",
        "(?i:api-key|-token)",
        rf"(?i:x-api-key|x-auth-token|private-token|x-write-token)(?:{_QUOTE})?{_IS}(?:{_QUOTE})?",
        r"[A-Za-z0-9._~+/\-]{16,400}={0,2}",
    ),
    (
        "password",
        rf"(?i:{_NAMED})[\"'\\\s]*[:=]",
        rf"(?i:{_NAMED})(?:{_QUOTE})?{_IS}{_QUOTE}",
        rf"[^\s\"'\\<>{{}}$]{{8,200}}(?={_QUOTE})",
    ),
    (
        "secret in the environment",
        "(?:PASSWORD|PASSWD|SECRET|KEY|TOKEN)=",
        rf"{_START}{_VARIABLE}=",
        r"(?=[^\s\"'\\]{0,200}\d)[^\s\"'\\$<>{}()\[\];,*]{8,200}(?=[\s\"'\\]|$)",
    ),
    (
        "azure key",
        "(?i:accountkey|sharedaccesskey)=",
        r"(?i:AccountKey|SharedAccessKey)=",
        r"[A-Za-z0-9+/]{40,90}={0,2}",
    ),
    (
        "aws secret",
        "(?i:aws_secret_access_key|secretaccesskey)",
        rf"(?i:aws_secret_access_key|secretaccesskey)(?:{_QUOTE})?{_IS}(?:{_QUOTE})?",
        r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])",
    ),
)


def _format_rule(kind: str, sign: str, secret: str) -> MaskingRule:
    return MaskingRule(kind, sign, _START + secret, f"[masked: {kind}]")


def _context_rule(kind: str, sign: str, before: str, secret: str) -> MaskingRule:
    if not before or before.startswith("(?<="):
        return MaskingRule(kind, sign, before + secret, f"[masked: {kind}]")
    return MaskingRule(kind, sign, f"(?P<before>{before})(?:{secret})", rf"\g<before>[masked: {kind}]")


RULES = (
    *(_context_rule(*place) for place in _PLACES[:2]),
    *(_format_rule(*given) for given in _FORMATS),
    *(_context_rule(*place) for place in _PLACES[2:]),
)


def mask_secrets(text: str) -> MaskedText:
    """The text with each secret replaced by the name of its kind."""
    counts: Counter[str] = Counter()
    for index in sorted(_SIGNS.Match(text.encode("utf-8", "surrogatepass")) or ()):
        rule = RULES[index]
        text, found = _compile_pattern(rule.secret).subn(rule.mask, text)
        if found:
            counts[rule.kind] += found
    return MaskedText(text, dict(counts))


def mask_arguments(
    arguments: Mapping[str, Any], verbatim: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments with secrets masked, except those named in `verbatim`; and the kinds of secrets that there were."""
    kinds: set[str] = set()
    clean = {
        name: value if name in verbatim else _mask_value(value, kinds) for name, value in arguments.items()
    }
    return clean, sorted(kinds)


def _mask_value(value: Any, kinds: set[str]) -> Any:
    if isinstance(value, str):
        if len(value) < _MIN_SECRET_CHARACTERS:
            return value
        safe = mask_secrets(value)
        kinds.update(safe.kinds)
        return safe.text
    if isinstance(value, Mapping):
        return {_mask_value(name, kinds): _mask_value(item, kinds) for name, item in value.items()}
    return [_mask_value(item, kinds) for item in value] if isinstance(value, list) else value


@cache
def _compile_pattern(secret: str) -> re.Pattern[str]:
    """Compiled when its sign is first found; most are never needed."""
    return re.compile(secret)


def _compile_signs() -> re2.Set:
    """All signs as one automaton: one pass over the text says which rules to try."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 8 * 1024 * 1024
    signs = re2.Set.SearchSet(options)
    for rule in RULES:
        signs.Add(rule.sign)
    signs.Compile()
    return signs


_SIGNS = _compile_signs()
