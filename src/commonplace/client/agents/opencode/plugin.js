// Written by `commonplace install`, taken away by `commonplace uninstall`: changes made here are lost.
// It tells Commonplace what happens in a session and does what it is answered. Without a server it does nothing.
import { spawn } from "node:child_process"

const PROGRAM = __PROGRAM__
const PROMPTS = __PROMPTS__
const MILLISECONDS = 10000
const DIALOG_MILLISECONDS = 3600000
const OWN_TOOLS = "commonplace_"
const START_TOOL = "commonplace_memory_start_session"
const EDITORS = new Set(["write", "edit", "multiedit", "patch", "apply_patch"])
const SHELL = "bash"

function ask(fields, timeout = MILLISECONDS) {
  return new Promise((resolve) => {
    const [program, ...words] = PROGRAM
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout })
    let said = ""
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (part) => {
      said += part
    })
    child.on("close", () => {
      try {
        resolve(JSON.parse(said))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(fields))
  })
}

export const Commonplace = async ({ client, directory }) => {
  const parents = new Map()
  const packs = new Map()
  const learnings = new Map()
  const open = new Set()
  const awaited = new Set()

  const root = (session) => (parents.get(session) ? root(parents.get(session)) : session)
  const isSubagent = (session) => root(session) !== session

  // A session of an earlier run was not created before our eyes.
  const findParent = async (session) => {
    if (parents.has(session)) return
    parents.set(session, "")
    const found = await client?.session?.get({ path: { id: session } }).catch(() => undefined)
    const parent = found?.data?.parentID
    if (!parent) return
    parents.set(session, parent)
    await findParent(parent)
  }

  // A sub-agent is named beside the session that started it; the hook knows for which of them it acts.
  const tell = async (name, session, more, timeout) => {
    await findParent(session)
    open.add(root(session))
    const subagent = isSubagent(session) ? { agent_id: session } : {}
    return ask({ hook_event_name: name, session_id: root(session), cwd: directory, ...subagent, ...more }, timeout)
  }

  const end = async (session) => {
    await tell("session.deleted", session)
    open.delete(session)
  }

  const heard = {
    "session.created": (session) => packs.set(session, tell("session.created", session)),
    "session.compacted": (session) => {
      if (!isSubagent(session)) packs.set(session, tell("session.compacted", session, { source: "compact" }))
    },
    "session.idle": async (session) => {
      if (isSubagent(session)) packs.delete(session)
      const answer = await tell("session.idle", session)
      // A rule keeps the agent from stopping: what it says is the next prompt.
      if (answer.denied) void client?.session?.prompt({ path: { id: session }, body: { parts: [{ type: "text", text: answer.denied }] } })
    },
    "session.deleted": (session) => {
      packs.delete(session)
      return end(session)
    },
  }

  const reply = (path, body) =>
    client?._client?.post({ url: path, body, headers: { "Content-Type": "application/json" } })

  // While a dialog is open somebody may answer it elsewhere; whoever is first counts, the other answer is refused.
  const answerDialog = async (name, session, asked) => {
    const { verdict } = await tell(name, session, { asked }, DIALOG_MILLISECONDS)
    if (!verdict) return
    if (name === "question.asked") {
      const isAnswered = verdict.decision === "answer"
      const body = { answers: verdict.answers.map((text, n) => (asked.questions[n].multiple ? text.split(", ") : [text])) }
      await reply(`/question/${asked.id}/${isAnswered ? "reply" : "reject"}`, isAnswered ? body : {})
    } else if (verdict.decision === "deny") {
      await reply(`/permission/${asked.id}/reply`, { reply: "reject", message: verdict.message })
    } else {
      const path = { id: session, permissionID: asked.id }
      await client?.postSessionIdPermissionsPermissionId?.({ path, body: { response: "once" } })
    }
  }
  const dialogs = new Set(["permission.asked", "question.asked"])
  const ends = new Set(["permission.replied", "question.replied", "question.rejected"])

  const tieCall = async (input, output) => {
    const sent = { tool_name: input.tool, tool_input: output.args }
    const answer = await tell("tool.execute.before", input.sessionID, sent)
    Object.assign(output.args, answer.arguments)
    // From here on it is an agent of its own, which the reply tells it.
    if (input.tool === START_TOOL && isSubagent(input.sessionID)) packs.set(input.sessionID, {})
  }

  const hooks = {
    event: async ({ event }) => {
      const about = event.properties?.info
      const session = event.properties?.sessionID ?? about?.id
      if (event.type === "session.created") parents.set(session, about?.parentID ?? "")
      // Not awaited: later events must not wait until somebody answers.
      if (session && dialogs.has(event.type))
        answerDialog(event.type, session, event.properties).catch(() => {})
      if (session && ends.has(event.type)) tell(event.type, session).catch(() => {})
      if (session) await heard[event.type]?.(session)
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID
      if (!session) return
      if (!packs.has(session)) packs.set(session, tell("session.created", session, { source: "resume" }))
      const known = [(await packs.get(session)).context, learnings.get(session)]
      output.system.push(...known.filter(Boolean))
    },
    // opencode ends, or loads its settings again: then the next event starts again.
    dispose: async () => {
      packs.clear()
      await Promise.all([...open].map(end))
    },
    "experimental.session.compacting": async (input) => {
      await tell("experimental.session.compacting", input.sessionID)
    },
    "tool.execute.before": async (input, output) => {
      if (input.tool.startsWith(OWN_TOOLS)) return tieCall(input, output)
      if (!EDITORS.has(input.tool) && input.tool !== SHELL) return
      const sent = { tool_name: input.tool, tool_input: output.args }
      const answer = await tell("tool.execute.before", input.sessionID, sent)
      if (answer.denied) throw new Error(answer.denied)
      Object.assign(output.args, answer.arguments)
      if (answer.reports_end) awaited.add(input.callID)
    },
    "tool.execute.after": async (input, output) => {
      if (awaited.delete(input.callID) || input.tool === SHELL || input.tool === "todowrite") {
        const tool_response = String(output.output ?? "").slice(-8000)
        const sent = { tool_name: input.tool, tool_input: input.args, exit_code: output.metadata?.exit, tool_response }
        const answer = await tell("tool.execute.after", input.sessionID, sent)
        if (answer.context) output.output += `\n\n${answer.context}`
      }
      if (!EDITORS.has(input.tool)) return
      const sent = { tool_name: input.tool, tool_input: input.args }
      const answer = await tell("tool.execute.after", input.sessionID, sent)
      if (answer.context) output.output += `\n\n${answer.context}`
    },
  }
  // For `commonplace guard`: which session runs a command.
  hooks["shell.env"] = async (input, output) => {
    if (!input.sessionID) return
    await findParent(input.sessionID)
    output.env.COMMONPLACE_AGENT_SESSION = input.sessionID
    if (isSubagent(input.sessionID)) output.env.COMMONPLACE_PARENT_SESSION = root(input.sessionID)
  }
  if (PROMPTS) {
    hooks["chat.message"] = async (input, output) => {
      const prompt = output.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")
      const answer = await tell("chat.message", input.sessionID, { prompt })
      learnings.set(input.sessionID, answer.context)
    }
  }
  return hooks
}
