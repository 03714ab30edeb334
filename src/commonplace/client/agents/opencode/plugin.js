// Written by `commonplace install`, taken away by `commonplace uninstall`: changes made here are lost.
// It tells Commonplace what happens in a session and does what it is answered. Without a server it does nothing.
import { spawn } from "node:child_process"

const PROGRAM = __PROGRAM__
const PROMPTS = __PROMPTS__
const MILLISECONDS = 10000
const OWN_TOOLS = "commonplace_memory_"
const SESSION = /session_id for these tools: (\S+)/
const EDITORS = new Set(["write", "edit", "multiedit", "patch", "apply_patch"])

function ask(fields) {
  return new Promise((resolve) => {
    const [program, ...words] = PROGRAM
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: MILLISECONDS })
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

export const Commonplace = async ({ directory }) => {
  const parents = new Map()
  const packs = new Map()
  const learnings = new Map()

  // A sub-agent works for the session that started it: its edits are that session's.
  const root = (session) => (parents.has(session) ? root(parents.get(session)) : session)
  const tell = (name, session, more) =>
    ask({ hook_event_name: name, session_id: root(session), cwd: directory, ...more })

  // A sub-agent names its own session.
  const addSession = async (session, args) => {
    if (args.session_id || parents.has(session) || !packs.has(session)) return
    const found = SESSION.exec((await packs.get(session)).context ?? "")
    if (found) args.session_id = found[1]
  }

  const heard = {
    "session.created": (session) => packs.set(session, tell("session.created", session)),
    "session.compacted": (session) => packs.set(session, tell("session.compacted", session, { source: "compact" })),
    "session.idle": (session) => tell("session.idle", session),
    "session.deleted": (session) => {
      packs.delete(session)
      return tell("session.deleted", session)
    },
  }

  const hooks = {
    event: async ({ event }) => {
      const about = event.properties?.info
      const session = event.properties?.sessionID ?? about?.id
      if (about?.parentID) parents.set(about.id, about.parentID)
      if (session && !parents.has(session)) await heard[event.type]?.(session)
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID) return
      const session = root(input.sessionID)
      if (!packs.has(session)) packs.set(session, tell("session.created", session, { source: "resume" }))
      const known = [(await packs.get(session)).context, learnings.get(session)]
      output.system.push(...known.filter(Boolean))
    },
    "experimental.session.compacting": async (input) => {
      await tell("experimental.session.compacting", input.sessionID)
    },
    "tool.execute.before": async (input, output) => {
      if (input.tool.startsWith(OWN_TOOLS)) return addSession(input.sessionID, output.args)
      if (!EDITORS.has(input.tool)) return
      const sent = { tool_name: input.tool, tool_input: output.args }
      const answer = await tell("tool.execute.before", input.sessionID, sent)
      if (answer.denied) throw new Error(answer.denied)
    },
    "tool.execute.after": async (input, output) => {
      if (!EDITORS.has(input.tool)) return
      const sent = { tool_name: input.tool, tool_input: input.args }
      const answer = await tell("tool.execute.after", input.sessionID, sent)
      if (answer.context) output.output += `\n\n${answer.context}`
    },
  }
  if (PROMPTS) {
    hooks["chat.message"] = async (input, output) => {
      const prompt = output.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")
      const answer = await tell("chat.message", input.sessionID, { prompt })
      learnings.set(root(input.sessionID), answer.context)
    }
  }
  return hooks
}
