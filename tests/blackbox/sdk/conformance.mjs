// Runs the MCP conformance suite, whose newest version imports fs.globSync, under a Node.js that does not have it yet (20). The scenarios do not
// call it: only a command of its maintainers does. argv: the arguments of the suite. III_NODE_DIR holds node_modules.
import { register } from 'node:module'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

const shim = 'data:text/javascript,' + encodeURIComponent(`export * from 'node:fs'; export const globSync = undefined`)
const hooks = `export async function resolve(name, context, next) {
  return name === 'fs' && /conformance/.test(context.parentURL ?? '') ? { shortCircuit: true, url: ${JSON.stringify(shim)} } : next(name, context)
}`
register('data:text/javascript,' + encodeURIComponent(hooks))
await import(pathToFileURL(process.env.III_NODE_DIR + '/node_modules/@modelcontextprotocol/conformance/dist/index.js').href)
