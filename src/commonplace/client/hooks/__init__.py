"""What an agent's own hooks run: `commonplace hook <agent>`. It imports little and never stops the agent."""
