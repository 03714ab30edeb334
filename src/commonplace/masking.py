"""Secrets in text, by the formats that providers give them; each rule looks at a character a bounded number of times."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Masked:
    text: str
    kinds: tuple[str, ...]


_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "private key",
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,20000}-----END [A-Z ]{0,30}PRIVATE KEY-----",
        ),
        ("private key", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s]{20,20000}"),
        ("aws key id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
        ("github token", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
        ("github token", r"\bgithub_pat_[A-Za-z0-9_]{60,255}\b"),
        ("gitlab token", r"\bgl(?:pat|dt|rt|ptt|cbt|imt|agent|soat|ffct)-[A-Za-z0-9_\-]{20,64}\b"),
        ("anthropic key", r"\bsk-ant-[A-Za-z0-9]{2,12}-[A-Za-z0-9_\-]{24,200}"),
        ("openai key", r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{24,250}"),
        ("openai key", r"\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b"),
        ("commonplace key", r"\bsmk_[A-Za-z0-9_\-]{43}"),
        ("slack token", r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,250}"),
        ("slack token", r"\bxapp-\d-[A-Z0-9]{5,20}-\d{5,20}-[a-f0-9]{30,100}"),
        ("slack hook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/+]{40,60}"),
        ("stripe key", r"\b(?:sk|rk|whsec)_(?:live|test)_[A-Za-z0-9]{10,120}\b"),
        ("google key", r"\bAIza[A-Za-z0-9_\-]{35}"),
        ("google secret", r"\bGOCSPX-[A-Za-z0-9_\-]{28}"),
        ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("pypi token", r"\bpypi-AgE[A-Za-z0-9_\-]{50,1000}"),
        ("huggingface token", r"\bhf_[A-Za-z0-9]{30,50}\b"),
        ("sendgrid key", r"\bSG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}"),
        ("twilio key", r"\bSK[a-f0-9]{32}\b"),
        ("digitalocean token", r"\bdo[oprt]_v1_[a-f0-9]{64}\b"),
        ("shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
        ("telegram token", r"\b\d{8,10}:AA[A-Za-z0-9_\-]{33}\b"),
        ("vault token", r"\bhv[sbr]\.[A-Za-z0-9_\-]{24,200}"),
        ("age key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
        ("azure key", r"\b(?i:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,90}={0,2}"),
        (
            "json web token",
            r"\beyJ[A-Za-z0-9_\-]{10,2000}\.eyJ[A-Za-z0-9_\-]{10,4000}\.[A-Za-z0-9_\-]{10,1000}",
        ),
        ("password in an address", r"(?<=://)[^\s:/@]{1,64}:[^\s/@]{3,128}(?=@[A-Za-z0-9.\-]+)"),
        (
            "password",
            (
                r"(?i:\b(?:password|passwd|api_?key|secret_?key|access_?token|auth_?token|client_?secret)\b)"
                r"[\"']?\s{0,3}[:=]\s{0,3}[\"'][^\s\"'<>{}$]{8,200}[\"']"
            ),
        ),
        ("aws secret", r"(?i:aws_secret_access_key)\s{0,3}[:=]\s{0,3}[\"']?[A-Za-z0-9/+]{40}"),
    )
)


def masked(text: str) -> Masked:
    """The text with each secret replaced by the name of its kind."""
    kinds: dict[str, None] = {}
    for kind, pattern in _RULES:
        replaced = pattern.sub(f"[masked: {kind}]", text)
        if replaced is not text and replaced != text:
            kinds[kind] = None
            text = replaced
    return Masked(text, tuple(kinds))
