// Flame for OpenCode, written by `flame setup`: the MCP server and the slash
// commands. It has no dependency, prints nothing and never fails its host.
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { basename, delimiter, join } from "node:path"

// The server offers prompts of the same names; where it answers, its text is
// taken instead, so there is one command of each name either way.
const commands = {
  "flame:push": {
    description: "Start a frame for a piece of work",
    template:
      "Call the tool flame_push with the line below as its goal, word for word. If there is none, name the next piece of work yourself. Then do that work in the new frame.\n\n$ARGUMENTS",
  },
  "flame:pop": {
    description: "End the current frame with a summary",
    template:
      "Call the tool flame_pop for the current frame. The line below may begin with its status (completed, failed or blocked; completed if none is given); the rest is the summary. If there is no summary, write it: what was done, what was decided, what is left open.\n\n$ARGUMENTS",
  },
  "flame:status": {
    description: "Show the frames of this project",
    template: "Call the tool flame_status and show its answer as it is.",
  },
}

// program is flame where setup puts it, else on PATH; undefined without one.
const program = () =>
  [join(homedir(), ".local", "bin"), ...(process.env.PATH ?? "").split(delimiter)]
    .map((dir) => join(dir, "flame"))
    .find((file) => existsSync(file))

// configure adds what the user has not configured: an entry for flame of their
// own, also one that switches it off, stays as it is. The server inherits the
// environment, and with it every FLAME_* setting, and the project as its folder.
const configure = (config) => {
  const servers = Object.entries(config.mcp ?? {})
  const own = servers.find(([name, server]) => name === "flame" || basename(String(server?.command?.[0])) === "flame")
  const flame = program()
  if (own ? own[1]?.enabled === false : !flame) return
  if (!own) config.mcp = { ...config.mcp, flame: { type: "local", command: [flame, "serve"] } }
  config.command = { ...commands, ...config.command }
}

// hooks are all that flame listens to; each must pass through guarded.
const hooks = { config: configure }

// guarded keeps a fault of ours from the host: a hook that throws ends its turn.
const guarded = (hook) => async (...args) => {
  try {
    return await hook(...args)
  } catch {}
}

export const Flame = async () => Object.fromEntries(Object.entries(hooks).map(([name, hook]) => [name, guarded(hook)]))
