// What the console's programs share: a real Chromium, pages whose errors fail the program, axe. argv: scenario, the server's address, then what the
// scenario takes. III_NODE_DIR holds node_modules.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import process from 'node:process'

export const require = createRequire(process.env.III_NODE_DIR + '/')
const { chromium } = require('playwright-core')
const [name, base, ...args] = process.argv.slice(2)
export { base, args }
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const WAIT = 90_000

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: QUIET, timeout: WAIT })
const problems = []
const allowed = [] // what a scenario provokes on purpose

export const allow = (...patterns) => allowed.push(...patterns)

export async function open(hash = '#/', options = {}, at = base) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  return tab(context, hash, at)
}

export async function tab(context, hash, at = base) {
  const page = await context.newPage()
  page.setDefaultTimeout(WAIT)
  page.on('console', (m) => m.type() === 'error' && problems.push(m.text()))
  page.on('pageerror', (e) => problems.push(String(e)))
  await page.goto(`${at}/${hash}`)
  return page
}

export const go = (page, hash) => page.evaluate((to) => void (location.hash = to), hash)

export async function axe(page) {
  // As the debugger does it: the policy of the page forbids another script.
  await page.evaluate(require('node:fs').readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') + ';0')
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'best-practice'] }))
  const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(bad.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.target).join(' ')}`), [], page.url())
}

export async function logIn(page, token) {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

/** Runs the scenario that was asked for: it fails with its first wrong answer, and with every error of a page, rejected promise or violation of its policy. */
export async function main(scenarios) {
  try {
    await scenarios[name]()
    assert.deepEqual(problems.filter((text) => !allowed.some((pattern) => pattern.test(text))), [])
  } finally {
    await browser.close()
  }
}
