// A user's program on the published iii-sdk of npm. scenario.py and scenario.rs do the same; test_iii_sdk.py has what they must print, one
// {"scenario": result} a line. argv: the engine's address, the REST address, a listener with rules, a server for HTTP functions, calls as
// JSON. III_NODE_DIR holds node_modules.
import { createRequire } from 'node:module'
import process from 'node:process'

const require = createRequire(process.env.III_NODE_DIR + '/')
const { registerWorker, TriggerAction } = require('iii-sdk')
const [address, rest, listener, target, plan] = process.argv.slice(2)
const SIZE = 1 << 20
const pattern = Buffer.from(Array.from({ length: SIZE }, (_, i) => (i * 7 + Math.floor(i / 251)) % 256))
const open = (url, workerName, headers) => registerWorker(url, { workerName, headers })
const call = (worker, function_id, payload = {}, action) => worker.trigger({ function_id, payload, action })

async function until(condition) {
  for (let i = 0; i < 600 && !condition(); i++) await new Promise((done) => setTimeout(done, 50))
  if (!condition()) throw new Error('waited in vain for ' + condition)
}

/** The result, null when there is none, or {code} of the error. */
async function outcome(promise) {
  try {
    return (await promise) ?? null
  } catch (error) {
    return { code: error.code }
  }
}

async function listed(worker) {
  const { functions } = await call(worker, 'engine::functions::list', { prefix: 'sdk::' })
  return functions.map((one) => one.function_id)
}

/** Messages of one connection are handled in order: its registrations are known after an answer. */
const registered = (worker) => call(worker, 'engine::workers::list')

async function carryOut(worker, name) {
  const results = []
  for (const [id, payload] of JSON.parse(plan)[name]) results.push(await outcome(call(worker, id, payload)))
  return results
}

async function functions(a, b) {
  a.registerFunction('sdk::add', async (data) => ({ sum: data.x + data.y, caller: typeof data._caller_worker_id === 'string' }))
  a.registerFunction('sdk::throws', async () => {
    throw new Error('on purpose')
  })
  a.registerFunction('sdk::gone', async () => 1).unregister()
  await registered(a)
  return {
    add: await call(b, 'sdk::add', { x: 2, y: 3 }),
    throws: await outcome(call(b, 'sdk::throws')),
    gone: await outcome(call(b, 'sdk::gone')),
    listed: await listed(b),
  }
}

async function queues(a, b) {
  const seen = []
  a.registerFunction('sdk::note', async (data) => void seen.push(data.n))
  await registered(a)
  await call(b, 'sdk::note', { n: 1 }, TriggerAction.Void())
  const receipt = await call(b, 'sdk::note', { n: 2 }, TriggerAction.Enqueue({ queue: 'sdk' }))
  await until(() => seen.length === 2)
  return { receipt: typeof receipt.messageReceiptId === 'string', seen: seen.sort() }
}

async function streams(a, b) {
  a.registerFunction('stream::get(sdk-mine)', async (data) => ({ mine: data.item_id }))
  a.registerFunction('stream::set(sdk-mine)', async (data) => ({ new_value: data.data }))
  await registered(a)
  return carryOut(b, 'streams')
}

async function triggers(a, b) {
  const bound = []
  const heard = []
  a.registerTriggerType({ id: 'sdk::type', description: 'custom' }, {
    registerTrigger: async (config) => void bound.push(config.id),
    unregisterTrigger: async () => {}, // 0.11 does not call it
  })
  b.registerFunction('sdk::heard', async (data) => void heard.push(data))
  const trigger = b.registerTrigger({ type: 'sdk::type', function_id: 'sdk::heard', config: { a: 1 } })
  await until(() => bound.length === 1)
  trigger.unregister()
  const { registered_triggers } = await call(b, 'engine::registered-triggers::list', { function_id: 'sdk::heard' })
  b.registerTrigger({ type: 'subscribe', function_id: 'sdk::heard', config: { topic: 'sdk' } })
  b.registerTrigger({ type: 'state', function_id: 'sdk::heard', config: { scope: 'sdk-heard' } })
  b.registerTrigger({ type: 'stream', function_id: 'sdk::heard', config: { stream_name: 'sdk-heard' } })
  b.registerFunction('sdk::page', async (request) => ({ status_code: 201, body: { hello: request.path_params.name, got: request.body } }))
  b.registerTrigger({ type: 'http', function_id: 'sdk::page', config: { api_path: '/sdk/:name', http_method: 'POST' } })
  await registered(b)
  await call(a, 'publish', { topic: 'sdk', data: { hot: true } })
  await until(() => heard.length === 1)
  await call(a, 'state::set', { scope: 'sdk-heard', key: 'k', value: 1 })
  await until(() => heard.length === 2)
  await call(a, 'stream::set', { stream_name: 'sdk-heard', group_id: 'g', item_id: 'i', data: 1 })
  await until(() => heard.length === 3)
  const answer = await fetch(rest + '/sdk/you', { method: 'POST', body: '{"n":1}', headers: { 'content-type': 'application/json' } })
  return {
    left: registered_triggers,
    topic: heard[0],
    state: heard[1].event_type,
    stream: heard[2].event,
    status: answer.status,
    page: await answer.json(),
  }
}

async function channels(a, b) {
  const channelOf = (worker) => (worker.createChannel ? worker.createChannel() : require('iii-sdk/helpers').createChannel(worker))
  a.registerFunction('sdk::swallow', async (data) => (await data.input.readAll()).equals(pattern))
  a.registerFunction('sdk::emit', async (data) => {
    data.output.sendMessage('first')
    data.output.stream.end(pattern)
    return true
  })
  await registered(a)
  const up = await channelOf(b)
  const swallowed = call(b, 'sdk::swallow', { input: up.readerRef })
  up.writer.stream.end(pattern)
  const down = await channelOf(b)
  const texts = []
  down.reader.onMessage((text) => texts.push(text))
  const emitted = call(b, 'sdk::emit', { output: down.writerRef })
  const parts = []
  for await (const part of down.reader.stream) parts.push(part)
  return { up: await swallowed, emitted: await emitted, down: Buffer.concat(parts).equals(pattern), texts }
}

async function http(a, b) {
  const remote = a.registerFunction('sdk::remote', { url: target + '/remote?a=1', method: 'PUT', headers: { 'X-Mine': 'sdk' } })
  a.registerFunction('sdk::closed', { url: 'http://127.0.0.1:1/' })
  await registered(a)
  const said = { answer: await call(b, 'sdk::remote', { n: 1 }), closed: await outcome(call(b, 'sdk::closed')) }
  said.listed = (await listed(b)).includes('sdk::remote')
  remote.unregister()
  await registered(a)
  return { ...said, gone: await outcome(call(b, 'sdk::remote')) }
}

async function rbac(a) {
  const asked = []
  const hooked = []
  a.registerFunction('sdk::auth', async (data) => {
    asked.push(data.headers['x-tenant'])
    return {
      allowed_functions: ['sdk::add', 'engine::functions::list'],
      function_registration_prefix: 'acme',
      context: { tenant: data.headers['x-tenant'] },
    }
  })
  a.registerFunction('sdk::on_function', async (data) => {
    hooked.push(data.function_id, data.context.tenant)
    return {}
  })
  await registered(a)
  const c = open(listener, 'sdk-c', { 'X-Tenant': 'acme' })
  c.registerFunction('guest::one', async () => ({ from: 'guest' }))
  const said = { add: await call(c, 'sdk::add', { x: 1, y: 1 }), denied: await outcome(call(c, 'sdk::note')), listed: await listed(c) }
  said.prefixed = await call(a, 'acme::guest::one')
  await c.shutdown()
  return { ...said, asked, hooked }
}

const a = open(address, 'sdk-a')
const b = open(address, 'sdk-b')
const scenarios = { functions, queues, state: () => carryOut(b, 'state'), streams, triggers, channels, http, rbac }
for (const [name, run] of Object.entries(scenarios)) {
  const result = await run(a, b).catch((error) => ({ failed: String(error.stack) }))
  process.stdout.write(JSON.stringify({ [name]: result }) + '\n')
}
await b.shutdown()
await a.shutdown()
process.exit(0)
