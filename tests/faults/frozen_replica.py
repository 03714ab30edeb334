"""A replica that freezes in the middle of a transaction: it locks all counters of `shop`, then stops itself."""

import asyncio
import os
import signal
import sys

from commonplace import errors
from commonplace.store.database import Tx
from commonplace.store.postgres import Postgres


async def freeze(tx: Tx) -> None:
    await tx.one("update counter set n = n where project = 'shop' returning n")
    sys.stdout.write("frozen\n")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGSTOP)


async def main(dsn: str) -> None:
    store = await Postgres.open(dsn, pool=1)
    try:
        await store.write(freeze)
    except errors.Unavailable as refusal:
        sys.exit(refusal.exit_code)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
