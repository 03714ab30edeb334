"""Infer the side effects of a function (file, network, process, database) from the names that it calls."""

import re
from collections.abc import Iterable

_CALL_PATTERNS = {
    "file": (
        r"^(?:open|fopen|freopen|fwrite|fread|fputs|fgets|fprintf|unlink|rename|mkdir|rmdir|scandir|file|readfile"
        r"|file_get_contents|file_put_contents)$"
        r"|^(?:os\.(?:open|remove|rename|replace|makedirs|mkdir|unlink|rmdir|listdir|scandir|walk|Open|OpenFile"
        r"|Create|ReadFile|WriteFile|Remove|RemoveAll|Mkdir|MkdirAll|Rename|ReadDir)$"
        r"|(?:shutil|tempfile|fs|fsPromises|ioutil|File|Files|FileUtils|Dir|Directory|std\.fs)\.)"
        r"|\.(?:read_text|write_text|read_bytes|write_bytes|readFile|writeFile|appendFile|readFileSync|writeFileSync"
        r"|unlinkSync|mkdirSync|iterdir|rglob)$"
        r"|^(?:FileReader|FileWriter|FileInputStream|FileOutputStream|StreamReader|StreamWriter|FileStream"
        r"|RandomAccessFile|(?:std\.)?[io]?fstream)$"
    ),
    "network": (
        r"^(?:fetch|axios|got|XMLHttpRequest|WebSocket|EventSource|HttpClient|WebClient|Socket|ServerSocket|connect"
        r"|bind|listen|accept|send|sendto|recv|recvfrom|urlopen|fsockopen|stream_socket_client)$"
        r"|^(?:requests|httpx|aiohttp|urllib|socket|smtplib|ftplib|axios|reqwest|net|http|https|TcpStream|TcpListener"
        r"|UdpSocket|Net\.HTTP|Faraday|HTTParty|HttpClient|std\.net|grpc|websockets)\."
        r"|^curl_|\.openConnection$"
    ),
    "process": (
        r"^(?:system|fork|vfork|popen|exec[lv]?[pe]{0,2}|execSync|spawn|spawnSync|shell_exec|proc_open|passthru|exit"
        r"|_exit|abort|ProcessBuilder|Command)$"
        r"|^(?:subprocess|multiprocessing|child_process|std\.process|Runtime\.getRuntime)\."
        r"|^os\.(?:system|popen|fork|kill|spawn\w*|exec\w*|_exit|Exit|StartProcess)$"
        r"|^(?:sys\.exit|process\.(?:exit|kill|abort)|exec\.Command(?:Context)?|Command\.new|Process\.\w+|System\.exit"
        r"|asyncio\.create_subprocess_\w+)$"
    ),
    "database": (
        r"\.(?:execute|executemany|executescript|executeQuery|executeUpdate|fetchone|fetchall|fetchrow|fetchval"
        r"|QueryRow|QueryContext|QueryRowContext|ExecContext|ExecuteReader|ExecuteNonQuery|ExecuteScalar|SaveChanges"
        r"|SaveChangesAsync|commit|rollback|cursor|prepareStatement|find_by|find_by_sql)$"
        r"|^(?:sqlite3|psycopg2?|asyncpg|aiosqlite|pymysql|sqlalchemy|sqlx|diesel|rusqlite|ActiveRecord|DriverManager"
        r"|sql)\.|^(?:mysqli_|pg_|sqlite3_|PQ(?:exec|connect))|^(?:PDO|SqlCommand|SqlConnection|mysqli)$"
        r"|^(?:db|conn|connection|pool|client|cursor)\.query$"
    ),
    "environment": (
        r"^(?:getenv|setenv|putenv|unsetenv|secure_getenv)$|^os\.(?:getenv|putenv|unsetenv|Getenv|Setenv|Unsetenv"
        r"|LookupEnv|Environ|environ\.\w+|environ|chdir|Chdir)$|^(?:std\.)?env\.(?:var|vars|set_var|args|var_os)$"
        r"|^System\.(?:getenv|getProperty|setProperty)$|^Environment\.\w*EnvironmentVariables?$|^ENV\.|^dotenv\."
    ),
}
_EFFECTS = tuple((effect, re.compile(pattern)) for effect, pattern in _CALL_PATTERNS.items())
EFFECT_ORDER = (*_CALL_PATTERNS, "global state")

ENVIRONMENT_TOKENS = frozenset({b"environ", b"ENV", b"$_ENV", b"$_SERVER"})


def infer_effects(calls: Iterable[str]) -> set[str]:
    """Return the effects that these call names suggest."""
    names = list(calls)
    return {effect for effect, pattern in _EFFECTS if any(pattern.search(name) for name in names)}
