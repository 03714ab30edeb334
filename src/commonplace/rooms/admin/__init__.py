"""Keys, the audit log and the health of the server."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.admin.audit_verification import list_audit_chains, verify_audit
from commonplace.rooms.admin.browser_sessions import create_sign_in_link
from commonplace.rooms.admin.contributes import (
    ANSWER_RETENTION,
    AUDIT_RETENTION,
    BROWSER_SESSIONS,
    BROWSER_SIGNED_OUT,
    KEY_REVOKED,
    KEYS,
)
from commonplace.rooms.admin.inspection import check_rows, inspect_server, run_retention
from commonplace.rooms.admin.operations import admin, get_health, readmit_subject

ROOM = Room(
    name="admin",
    purpose=__doc__,
    toolset="admin",
    operations=(admin, get_health),
    program_operations=(
        list_audit_chains,
        verify_audit,
        inspect_server,
        create_sign_in_link,
        run_retention,
        check_rows,
        readmit_subject,
    ),
    retention=(AUDIT_RETENTION, ANSWER_RETENTION, BROWSER_SESSIONS),
    resources=(KEYS,),
    events=(KEY_REVOKED, BROWSER_SIGNED_OUT),
    agent_columns=declare_agent_columns(
        never=("api_key.agent", "api_key.created_by", "audit.agent", "audit.detail", "browser_session.agent"),
    ),
)
