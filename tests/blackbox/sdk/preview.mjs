// Applications at their preview addresses in a real Chromium. argv: scenario, its arguments as JSON. III_NODE_DIR holds node_modules.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import process from 'node:process'

const require = createRequire(process.env.III_NODE_DIR + '/')
const { chromium } = require('playwright-core')
const [name, text] = process.argv.slice(2)
const args = JSON.parse(text)
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const WAIT = 120_000

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: QUIET, timeout: WAIT })
const context = await browser.newContext()
const problems = []

async function open(url) {
  const page = await context.newPage()
  page.setDefaultTimeout(WAIT)
  page.setDefaultNavigationTimeout(WAIT)
  page.on('pageerror', (e) => problems.push(String(e)))
  await page.goto(url)
  assert.ok(!page.url().includes('iii_link'), 'the link became a cookie')
  return page
}

async function write(id, path, content) {
  const done = await fetch(`${args.api}/sandboxes/${id}/files/write`, {
    method: 'POST', body: JSON.stringify({ path, content }), headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${args.token}` },
  })
  assert.equal(done.status, 200, await done.text())
}

const scenarios = {
  // Absolute addresses and styles work; an edit reaches the page without a reload, and only the page of its sandbox.
  async vite() {
    const pages = []
    for (const { link, mark } of args.apps) {
      const page = await open(link)
      await page.waitForFunction((mark) => document.querySelector('#app')?.textContent === `first ${mark}`, mark)
      await page.waitForFunction(() => getComputedStyle(document.body).color === 'rgb(1, 2, 3)')
      await page.evaluate(() => { globalThis.kept = 'since the load' })
      pages.push(page)
    }
    const [page, other] = pages
    const { id } = args.apps[0]
    // An edit before the server watches the file, or before the page is connected, is not told: so there are more.
    for (let i = 0; ; i++) {
      await write(id, '/workspace/src/text.js', `export const text = 'edit ${i}'\n`)
      const seen = await page.waitForFunction(() => document.querySelector('#app').textContent.startsWith('edit '), null, { timeout: 5000 }).catch(() => null)
      if (seen) break
      assert.ok(i < 20, 'no edit reached the page')
    }
    assert.equal(await page.evaluate(() => globalThis.kept), 'since the load', 'hot reload, not a reload')
    assert.equal(await other.textContent('#app'), `first ${args.apps[1].mark}`)
  },

  // Cookies, storage and service workers of two sandboxes are apart; nobody sees the cookie of the preview.
  async flask() {
    const [a, b] = [await open(args.apps[0].link), await open(args.apps[1].link)]
    const cookies = async (page) => JSON.parse(await page.evaluate(() => fetch('/cookies').then((r) => r.text())))
    await a.goto(new URL('/login/ann', a.url()).href)
    await b.goto(new URL('/login/bob', b.url()).href)
    assert.equal((await cookies(a)).user, 'ann')
    assert.equal((await cookies(b)).user, 'bob')
    for (const page of [a, b]) {
      const seen = await cookies(page)
      assert.ok(!('wide' in seen) && !('iii_preview' in seen), JSON.stringify(seen))
      assert.ok(!(await page.evaluate(() => document.cookie)).includes('iii_preview'))
    }
    await a.evaluate(() => localStorage.setItem('of', 'a'))
    assert.equal(await b.evaluate(() => localStorage.getItem('of')), null)
    await a.evaluate(async () => {
      await navigator.serviceWorker.register('/worker.js')
      await navigator.serviceWorker.ready
    })
    await a.waitForFunction(() => navigator.serviceWorker.controller)
    assert.equal(await a.evaluate(() => fetch('/of-the-worker').then((r) => r.text())), 'from the worker')
    assert.equal(await b.evaluate(() => fetch('/of-the-worker').then((r) => r.status)), 404)
    assert.equal(await b.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length), 0)
    // A page of one may neither read the other nor call the API.
    for (const address of [new URL('/cookies', b.url()).href, `${args.api}/sandboxes`])
      assert.equal(await a.evaluate((to) => fetch(to, { credentials: 'include' }).then((r) => r.text()).catch(() => 'refused'), address), 'refused')
  },

  // A notebook: pages, WebSocket of its kernel, output.
  async jupyter() {
    const page = await open(args.link)
    await page.goto(new URL('/lab', page.url()).href)
    await page.locator('.jp-LauncherCard[data-category="Notebook"]').first().click()
    await page.getByText(/Python 3 \(ipykernel\) \| Idle/).waitFor() // what is run before its kernel is connected is lost
    await page.locator('.jp-Notebook .cm-content').first().click()
    await page.keyboard.type('6 * 7')
    await page.keyboard.press('Shift+Enter')
    await page.locator('.jp-OutputArea-output', { hasText: '42' }).first().waitFor()
  },
}

try {
  await scenarios[name]()
  assert.deepEqual(problems, [])
} finally {
  await browser.close()
}
