#!/usr/bin/env node
// Starts flame: the program of this system, which is a package of its own beside this one. npm
// installs only the package that fits. Nothing is downloaded here.
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { constants } from "node:os"

const require = createRequire(import.meta.url)
const { name, optionalDependencies: parts } = require("./package.json")
const part = `${name}-${process.platform}-${process.arch}`

let program
try {
  program = require.resolve(`${part}/flame`)
} catch {
  console.error(
    part in parts
      ? `flame: ${part} is missing: npm left it out, as with --omit=optional or a lock file of another system\n` +
          `hint: install ${name} again without that, on this machine`
      : `flame: there is no program for ${process.platform} ${process.arch}, only ${Object.keys(parts).join(", ")}\n` +
          `hint: with Go, flame can be built from its source`,
  )
  process.exit(1)
}

const args = process.argv.slice(2)
if (process.execve) {
  // Newer versions of Node become the program, which leaves nothing to pass on.
  process.execve(program, [program, ...args], process.env)
}
const child = spawn(program, args, { stdio: "inherit" })
child.on("error", (error) => {
  console.error(`flame: ${program} does not start: ${error.message}`)
  process.exit(1)
})
// A terminal sends its signals to both processes; what somebody sends to this one, it passes on.
const typed = process.stdin.isTTY ? ["SIGINT", "SIGQUIT"] : []
for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => typed.includes(signal) || child.kill(signal))
}
child.on("exit", (status, signal) => process.exit(signal ? 128 + constants.signals[signal] : status))
