// A user's program on the published iii-sdk. argv: the engine's address, the REST address, what to do. III_NODE_DIR holds node_modules.
import { createHash, randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import process from 'node:process'

const require = createRequire(process.env.III_NODE_DIR + '/')
const { registerWorker, TriggerAction } = require('iii-sdk')
const { createChannel } = require('iii-sdk/helpers')

const [address, rest, what] = process.argv.slice(2)
const MIB = 1 << 20
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n')
const sha = (bytes) => createHash('sha256').update(bytes).digest('hex')

async function until(condition) {
  for (let i = 0; i < 600 && !condition(); i++) await new Promise((done) => setTimeout(done, 50))
  if (!condition()) throw new Error('waited in vain')
}

async function failure(promise) {
  try {
    return { result: await promise }
  } catch (error) {
    return { code: error.code, message: error.message, function_id: error.function_id }
  }
}

async function calls(a, b) {
  a.registerFunction('sdk::add', async (data) => ({ sum: data.x + data.y, caller: typeof data._caller_worker_id }))
  a.registerFunction('sdk::throws', async () => {
    throw new Error('on purpose')
  })
  a.registerFunction('sdk::meta', async (_, metadata) => metadata)
  const seen = []
  a.registerFunction('sdk::note', async (data) => void seen.push(data.n))
  await a.trigger({ function_id: 'engine::workers::list', payload: {} })
  say({ add: await b.trigger({ function_id: 'sdk::add', payload: { x: 2, y: 3 } }) })
  say({ throws: await failure(b.trigger({ function_id: 'sdk::throws', payload: {} })) })
  say({ missing: await failure(b.trigger({ function_id: 'sdk::missing', payload: {} })) })
  say({ many: (await Promise.all(Array.from({ length: 500 }, (_, x) => b.trigger({ function_id: 'sdk::add', payload: { x, y: 1 } }))))
    .reduce((sum, one) => sum + one.sum, 0) })
  say({ void: (await b.trigger({ function_id: 'sdk::note', payload: { n: 1 }, action: TriggerAction.Void() })) ?? null })
  const receipt = await b.trigger({ function_id: 'sdk::note', payload: { n: 2 }, action: TriggerAction.Enqueue({ queue: 'sdk' }) })
  say({ receipt: typeof receipt.messageReceiptId })
  await until(() => seen.length === 2)
  say({ seen: seen.sort() })
  say({ big: (await b.trigger({ function_id: 'sdk::add', payload: { x: 'x'.repeat(15 * MIB), y: '' } })).sum.length })
  const { functions } = await b.trigger({ function_id: 'engine::functions::list', payload: { prefix: 'sdk::' } })
  say({ functions: functions.map((one) => one.function_id) })
}

async function channels(a, b) {
  const sent = randomBytes(64 * MIB)
  a.registerFunction('sdk::swallow', async (data) => {
    const got = await data.input.readAll()
    return { size: got.length, sha: sha(got) }
  })
  a.registerFunction('sdk::emit', async (data) => {
    data.output.sendMessage(JSON.stringify({ size: sent.length }))
    data.output.stream.end(sent)
    return { sha: sha(sent) }
  })
  await a.trigger({ function_id: 'engine::workers::list', payload: {} })
  const up = await createChannel(b)
  const answer = b.trigger({ function_id: 'sdk::swallow', payload: { deep: { n: 1 }, input: up.readerRef }, timeoutMs: 60000 })
  up.writer.stream.end(sent)
  const swallowed = await answer
  say({ up: swallowed.size, same: swallowed.sha === sha(sent) })
  const down = await createChannel(b)
  const texts = []
  down.reader.onMessage((text) => texts.push(text))
  const emitted = b.trigger({ function_id: 'sdk::emit', payload: { output: down.writerRef }, timeoutMs: 60000 })
  const parts = []
  for await (const part of down.reader.stream) parts.push(part)
  const got = Buffer.concat(parts)
  say({ down: got.length, same: sha(got) === (await emitted).sha, texts })
}

async function triggers(a, b) {
  const bound = []
  a.registerTriggerType({ id: 'sdk::type', description: 'custom' }, {
    registerTrigger: async (config) => void bound.push(config.id),
    unregisterTrigger: async (config) => void bound.push(config.id),
  })
  const heard = []
  b.registerFunction('sdk::bound', async (data) => void heard.push(data))
  const trigger = b.registerTrigger({ type: 'sdk::type', function_id: 'sdk::bound', config: { a: 1 } })
  await until(() => bound.length === 1)
  b.registerTrigger({ type: 'subscribe', function_id: 'sdk::bound', config: { topic: 'sdk' } })
  trigger.unregister()
  await until(() => bound.length === 2)
  say({ bound: bound[0] === bound[1] })
  await b.trigger({ function_id: 'engine::workers::list', payload: {} })
  await a.trigger({ function_id: 'publish', payload: { topic: 'sdk', data: { hot: true } } })
  await until(() => heard.length === 1)
  say({ heard })
  b.registerFunction('sdk::page', async (request) => ({ status_code: 201, body: { hello: request.path_params.name, got: request.body } }))
  b.registerTrigger({ type: 'http', function_id: 'sdk::page', config: { api_path: '/sdk/:name', http_method: 'POST' } })
  await b.trigger({ function_id: 'engine::workers::list', payload: {} })
  const answer = await fetch(rest + '/sdk/you', { method: 'POST', body: '{"n":1}', headers: { 'content-type': 'application/json' } })
  say({ status: answer.status, page: await answer.json() })
}

const a = registerWorker(address, { workerName: 'sdk-a', reconnectionConfig: { initialDelayMs: 100 } })
if (what === 'stay') {
  a.registerFunction('sdk::stay', async (data) => ({ echo: data.n }))
  await a.trigger({ function_id: 'engine::workers::list', payload: {} })
  say({ ready: true })
  process.stdin.resume()
  await new Promise((done) => process.stdin.on('end', done))
} else {
  const b = registerWorker(address, { workerName: 'sdk-b' })
  await { calls, channels, triggers }[what](a, b)
  await b.shutdown()
}
await a.shutdown()
process.exit(0)
