// The console with much of everything, in a real Chromium; prints what it measured as JSON. See consolekit.mjs.
import assert from 'node:assert/strict'
import net from 'node:net'
import { allow, args, base, main, open, tab } from './consolekit.mjs'

/** Notes the longest task of the page from now on, and the longest time without a turn of its loop. */
const watch = (page) =>
  page.evaluate(() => {
    globalThis.longest = globalThis.stillest = 0
    new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration) }).observe({ entryTypes: ['longtask'] })
    let last = performance.now()
    setInterval(() => { const now = performance.now(); globalThis.stillest = Math.max(globalThis.stillest, now - last); last = now }, 20)
  })
const measured = (page) => page.evaluate(() => ({ longestMs: Math.round(globalThis.longest), stillestMs: Math.round(globalThis.stillest) }))

const screen = (page) => page.evaluate(() => document.querySelector('.xterm-accessibility')?.innerText ?? '')
const shows = (page, text) => page.waitForFunction((wanted) => (document.querySelector('.xterm-accessibility')?.innerText ?? '').includes(wanted), text)

/** Between the browser and the server: cut() ends all connections and takes no more until join(). */
async function proxy() {
  const { hostname, port } = new URL(base)
  const ends = new Set()
  let isUp = true
  const server = net.createServer((near) => {
    if (!isUp) return near.destroy()
    const far = net.connect(Number(port), hostname)
    for (const [end, other] of [[near, far], [far, near]]) {
      ends.add(end)
      end.on('error', () => other.destroy()).on('close', () => (ends.delete(end), other.destroy()))
      end.pipe(other)
    }
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    cut: () => { isUp = false; for (const end of ends) end.destroy() },
    join: () => { isUp = true },
    close: () => { for (const end of ends) end.destroy(); server.close() },
  }
}

const scenarios = {
  // A table of very many sandboxes. argv: how many there are; the name of one, and how many names begin with it.
  async table() {
    const [many, name, like] = args
    const page = await open('#/sandboxes')
    await page.locator(`table[aria-rowcount="${many}"]`).waitFor()
    await watch(page)
    const rows = await page.evaluate(async () => {
      const box = document.querySelector('.scroll')
      let rows = 0
      for (let i = 0; i <= 60; i++) {
        box.scrollTop = (box.scrollHeight * i) / 60
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
        rows = Math.max(rows, box.querySelectorAll('tbody tr').length)
      }
      return rows
    })
    assert.ok(rows < 80, `${rows} rows are drawn`)
    const first = () => page.evaluate(() => document.querySelector('tbody tr:not(.space) a').textContent)
    await page.evaluate(() => (document.querySelector('.scroll').scrollTop = 0))
    await page.getByRole('button', { name: /^Name/ }).click()
    await page.locator('th[aria-sort="ascending"]').waitFor()
    const low = await first()
    await page.getByRole('button', { name: /^Name/ }).click()
    await page.locator('th[aria-sort="descending"]').waitFor()
    assert.ok(await first() > low)
    await page.getByLabel('Filter').fill(name)
    await page.locator(`table[aria-rowcount="${like}"]`).waitFor()
    assert.match(page.url(), new RegExp(`q=${name}`))
    await page.getByLabel('Filter').fill('')
    await page.locator(`table[aria-rowcount="${many}"]`).waitFor()
    await page.getByLabel('Select all').click()
    await page.getByText(`${many} selected`).waitFor()
    const said = await measured(page)
    await page.getByLabel('Select all').click()
    await page.getByLabel('Filter').fill(name)
    await page.locator(`table[aria-rowcount="${like}"]`).waitFor()
    await page.getByLabel('Select all').click()
    await page.getByRole('group', { name: 'With the selected' }).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No sandbox matches').waitFor()
    console.log(JSON.stringify(said))
  },

  // Floods: a program that never ends for as long as it is given, then one with very much output. argv: a sandbox, seconds, bytes.
  async flood() {
    const [id, seconds, bytes] = args
    const page = await open(`#/sandboxes/${id}/terminal`)
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type("PS1='qui''et> '\n")
    await shows(page, 'quiet> ')
    await watch(page)
    const scrolledAway = () => page.waitForFunction(() => !(document.querySelector('.xterm-accessibility')?.innerText ?? '').includes('quiet> '))
    /** The time from the key to the prompt of the shell, as the page sees it. */
    const interrupt = async () => {
      await scrolledAway()
      await page.evaluate(() => {
        globalThis.took = undefined
        addEventListener('keydown', ({ key }) => {
          const began = performance.now()
          const look = () => {
            if ((document.querySelector('.xterm-accessibility')?.innerText ?? '').includes('quiet> ')) globalThis.took = performance.now() - began
            else setTimeout(look, 5)
          }
          if (key === 'c') look()
        }, { capture: true })
      })
      await page.keyboard.press('Control+c')
      await page.waitForFunction(() => globalThis.took !== undefined)
      return Math.round(await page.evaluate(() => globalThis.took))
    }
    await page.keyboard.type('yes\n')
    await shows(page, 'y\ny\ny')
    await new Promise((done) => setTimeout(done, seconds * 1000)) // what is tested is the time that it runs
    const said = { yesMs: await interrupt() }
    // To its end: what is on the screen afterwards is what came last.
    await page.keyboard.type(`yes 0123456789012345678901234567890123456789 | head -c ${bytes}; echo; echo fi""nished\n`)
    await shows(page, 'finished')
    // And interrupted on its way.
    await page.keyboard.type(`yes 0123456789012345678901234567890123456789 | head -c ${bytes * 100}; echo; echo ne""ver\n`)
    said.floodMs = await interrupt()
    assert.ok(!(await screen(page)).includes('never'))
    console.log(JSON.stringify({ ...said, ...(await measured(page)) }))
  },

  // A file that is too large for an editor. argv: a sandbox, its size.
  async file() {
    const [id, size] = args
    const page = await open(`#/sandboxes/${id}/files?file=/workspace/large.txt`)
    const asked = []
    page.on('response', (r) => r.url().includes('files/content') && asked.push(Number(r.headers()['content-length'] ?? 0)))
    await page.locator('pre.viewer', { hasText: 'line 1 of many' }).waitFor()
    await watch(page)
    await page.getByRole('button', { name: 'Later' }).click()
    await page.locator('pre.viewer', { hasText: 'line 20000 of many' }).waitFor()
    await page.getByRole('button', { name: 'End' }).click()
    await page.locator('pre.viewer', { hasText: 'the last line' }).waitFor()
    await page.getByRole('button', { name: 'Earlier' }).click()
    await page.locator('pre.viewer', { hasText: /line \d+ of many/ }).waitFor()
    const read = asked.reduce((sum, n) => sum + n, 0)
    assert.ok(read > 0 && read < size / 10, `${read} of ${size} bytes were read`)
    console.log(JSON.stringify({ read, ...(await measured(page)) }))
  },

  // The connection breaks while a terminal is open and an edit is not saved. argv: a sandbox.
  async lost() {
    allow(/ERR_|WebSocket connection|Failed to load resource/)
    const [id] = args
    const between = await proxy()
    const page = await open(`#/sandboxes/${id}/terminal`, {}, between.address)
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('N=41; echo be""fore\n')
    await shows(page, 'before')
    const other = await tab(page.context(), `#/sandboxes/${id}/files?file=/workspace/edited.txt`, between.address)
    await other.locator('.cm-content').click()
    await other.keyboard.type('typed before, ')
    between.cut()
    for (const one of [page, other]) await one.getByText('The server does not answer').waitFor()
    await page.getByText('reconnecting').waitFor()
    await other.locator('.cm-content').click()
    await other.keyboard.type('typed without a server, ')
    await other.getByRole('button', { name: 'Save' }).click()
    await other.locator('.message.bad').first().waitFor()
    await other.getByText('not saved').waitFor()
    between.join()
    for (const one of [page, other]) await one.getByText('The server does not answer').waitFor({ state: 'detached' })
    await shows(page, 'before') // what was on it
    await page.getByText('reconnecting').waitFor({ state: 'detached' })
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo after-$((N+1))\n')
    await shows(page, 'after-42')
    await other.getByRole('button', { name: 'Save' }).click()
    await other.getByText('not saved').waitFor({ state: 'detached' })
    between.close()
  },
}

await main(scenarios)
