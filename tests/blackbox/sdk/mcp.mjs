// The published MCP clients against this server. argv: sdk (1.x) or client (2.x), then the command line of a server on standard input and
// output, or its http:// address. Reads one JSON order a line, answers one line each. III_NODE_DIR holds node_modules.
import { createRequire } from 'node:module'
import process from 'node:process'
import { createInterface } from 'node:readline'

const require = createRequire(process.env.III_NODE_DIR + '/')
const [generation, ...where] = process.argv.slice(2)
const isNew = generation === 'client'
const { Client } = require(isNew ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/index.js')

function transport() {
  if (!where[0].startsWith('http')) {
    const { StdioClientTransport } = require(isNew ? '@modelcontextprotocol/client/stdio' : '@modelcontextprotocol/sdk/client/stdio.js')
    return new StdioClientTransport({ command: where[0], args: where.slice(1), env: { ...process.env }, stderr: 'inherit' })
  }
  const { StreamableHTTPClientTransport } = require(isNew ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/streamableHttp.js')
  const headers = { Authorization: `Bearer ${process.env.III_SANDBOX_TOKEN}` }
  return new StreamableHTTPClientTransport(new URL(where[0]), { requestInit: { headers } })
}

const client = new Client({ name: 'test', version: '1' }, isNew ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {})
const link = transport()
await client.connect(link)

// How a call is made differs between the generations: 1.x wants to know the shape of the result.
const call = (params, options) => (isNew ? client.callTool(params, options) : client.callTool(params, undefined, options))

const orders = {
  about: async () => ({ server: client.getServerVersion(), version: isNew ? client.getNegotiatedProtocolVersion() : (link.protocolVersion ?? null) }),
  tools: async () => (await client.listTools()).tools,
  resources: async () => ({ list: (await client.listResources()).resources, templates: (await client.listResourceTemplates()).resourceTemplates }),
  read: async ({ uri }) => (await client.readResource({ uri })).contents,
  call: async ({ name, arguments: args }) => call({ name, arguments: args }),
  progress: async ({ name, arguments: args }) => {
    const told = []
    const result = await call({ name, arguments: args }, { onprogress: (p) => told.push(p.progress) })
    return { told, result }
  },
  cancel: async ({ name, arguments: args, after }) => {
    const stop = new AbortController()
    setTimeout(() => stop.abort('enough'), after)
    return call({ name, arguments: args }, { signal: stop.signal }).then(
      () => ({ cancelled: false }),
      (error) => ({ cancelled: true, message: String(error) })
    )
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { order, ...rest } = JSON.parse(line)
  let answer
  try {
    answer = { ok: await orders[order](rest) }
  } catch (error) {
    answer = { error: String(error?.message ?? error), code: error?.code }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
if (!isNew && link.terminateSession) await link.terminateSession()
await client.close()
