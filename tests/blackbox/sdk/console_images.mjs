// The console's page of images in a real Chromium. argv: scenario, the server's address, then what the scenario takes. Every error of a
// page, rejected promise or violation of its policy fails it. III_NODE_DIR holds node_modules.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'

const require = createRequire(process.env.III_NODE_DIR + '/')
const { chromium } = require('playwright-core')
const [name, base, ...args] = process.argv.slice(2)
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const WAIT = 90_000
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: QUIET, timeout: WAIT })
const problems = []

async function open(hash) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
  page.setDefaultTimeout(WAIT)
  page.on('console', (m) => m.type() === 'error' && problems.push(m.text()))
  page.on('pageerror', (e) => problems.push(String(e)))
  await page.goto(`${base}/${hash}`)
  return page
}

async function axe(page) {
  // As the debugger does it: the policy of the page forbids another script.
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') + ';0')
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'best-practice'] }))
  const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(bad.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.target).join(' ')}`), [], page.url())
}

const logOf = (page) => page.getByRole('log', { name: 'Log of the build' })

const scenarios = {
  // A folder becomes an image, whose layers are shown. argv: the folder.
  async build() {
    const page = await open('#/images')
    await page.getByRole('link', { name: 'Build', exact: true }).click()
    assert.match(page.url(), /build=new/)
    await page.getByLabel(/^Name/).fill('by-console')
    await page.getByLabel(/^Folder/).setInputFiles(args[0])
    await page.getByLabel(/^Build arguments/).fill('WHO=me')
    await page.getByRole('button', { name: 'Build', exact: true }).click()
    await page.getByText('Built:').waitFor()
    const text = await logOf(page).innerText()
    for (const part of ['step 4/4: RUN find', '/in/Dockerfile', 'long'.repeat(40), 'for me', '<b>bold</b>\u241b[2J']) assert.ok(text.includes(part), `${part}: ${text}`)
    await axe(page)
    await page.getByRole('link', { name: 'by-console' }).first().click()
    const layers = page.getByRole('region', { name: 'Layers' })
    await layers.getByText(/^RUN find/).waitFor()
    await layers.getByText(/^COPY/).waitFor()
    await page.getByText(/ in \d+ layers/).waitFor()
    await axe(page)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  },

  // A Dockerfile alone, which fails; then one that is cancelled.
  async cancel() {
    const page = await open('#/images?build=new')
    await page.getByLabel(/^Name/).fill('endless')
    const dockerfile = page.getByLabel('Or only a Dockerfile')
    await dockerfile.fill('FROM shell\nRUN exit 9\n')
    await page.getByRole('button', { name: 'Build', exact: true }).click()
    await page.getByRole('alert').getByText('Dockerfile line 2: RUN: the command exited with code 9').waitFor()
    await dockerfile.fill('FROM shell\nRUN echo begun; sleep 600\n')
    await page.getByRole('button', { name: 'Build', exact: true }).click()
    await logOf(page).getByText('begun', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel the build' }).click()
    await logOf(page).getByText('cancelled').waitFor()
  },
}

try {
  await scenarios[name]()
  assert.deepEqual(problems, [])
} finally {
  await browser.close()
}
