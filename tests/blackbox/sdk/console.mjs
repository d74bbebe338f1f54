// The console in a real Chromium: what it does. See consolekit.mjs.
import assert from 'node:assert/strict'
import { allow, args, axe, base, go, logIn, main, open, require } from './consolekit.mjs'

const scenarios = {
  // The path of most people: make a sandbox, type, write a file, run code, look at it, delete it.
  async tour() {
    const page = await open()
    await page.getByText('The server is healthy.').waitFor()
    await page.getByRole('link', { name: 'Create a sandbox' }).click()
    await page.getByRole('dialog').getByLabel(/^Name/).fill('tour')
    await page.getByText('iii create python --name tour').waitFor()
    await page.getByRole('button', { name: 'Create', exact: true }).last().click()
    await page.getByRole('heading', { name: 'tour' }).waitFor()
    const tab = (name) => page.getByRole('navigation', { name: 'Sandbox' }).getByRole('link', { name }).click()
    await tab('Terminal')
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('echo $((40+2)) > n.txt; cat n.txt\n')
    await page.waitForFunction(() => /^42$/m.test(document.querySelector('.xterm-accessibility')?.innerText ?? ''))
    await page.reload() // the session is there again, with what was on it
    await page.waitForFunction(() => /^42$/m.test(document.querySelector('.xterm-accessibility')?.innerText ?? ''))
    await tab('Files')
    await page.getByRole('button', { name: 'n.txt', exact: true }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.type('saved ')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('saved', { exact: true }).waitFor()
    await page.locator('input[type=file]').setInputFiles({ name: 'up.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(300_000, 7) })
    await page.getByRole('button', { name: 'up.bin', exact: true }).waitFor()
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download up.bin' }).click()])
    assert.equal(require('node:fs').statSync(await saved.path()).size, 300_000)
    await tab('Notebook')
    await page.locator('.cm-content').click()
    await page.keyboard.type("print(open('n.txt').read()); 6 * 7")
    await page.keyboard.press('Shift+Enter')
    await page.locator('.output', { hasText: '42' }).locator('pre', { hasText: '42' }).waitFor()
    assert.match(await page.locator('.output').first().innerText(), /saved/)
    await tab('Processes')
    await page.getByRole('region', { name: 'Processes' }).waitFor()
    await tab('Snapshots')
    await page.getByLabel('Name of the snapshot').fill('first')
    await page.getByRole('button', { name: 'Take a snapshot' }).click()
    await page.getByRole('cell', { name: 'first', exact: true }).waitFor()
    await tab('Events')
    await page.getByRole('cell', { name: 'sandbox.created' }).waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No sandboxes yet').waitFor()
  },

  // What runs beside a sandbox: its queue, alerts, egress policy, and a file since a snapshot; and webhooks. argv: a sandbox with network.
  async around() {
    const [id] = args
    allow(/status of 400/)
    const page = await open(`#/sandboxes/${id}/queue`)
    await page.getByText('Nothing in the queue').waitFor()
    await page.getByLabel('Command to queue').fill('echo said; exit 3')
    await page.getByLabel('Retries').fill('0')
    await page.getByRole('button', { name: 'Queue', exact: true }).click()
    await page.getByRole('button', { name: 'dead letters' }).click()
    await page.getByRole('button', { name: 'echo said; exit 3' }).click()
    await page.locator('.card pre', { hasText: 'said' }).waitFor()
    assert.match(page.url(), /view=failed.*job=job_/)
    await page.getByRole('button', { name: /^Try job_\w+ again$/ }).waitFor()
    await go(page, `#/sandboxes/${id}/alerts`)
    await page.getByText('No alerts', { exact: true }).waitFor()
    await page.getByLabel('Metric').selectOption('pids')
    await page.getByLabel('Threshold').fill('1')
    await page.getByRole('button', { name: 'Set an alert' }).click()
    await page.getByRole('region', { name: 'Alerts that fired' }).getByText('notify').first().waitFor()
    await page.getByRole('button', { name: 'Delete the alert on pids' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No alerts', { exact: true }).waitFor()
    await go(page, `#/sandboxes/${id}/egress`)
    await page.getByRole('button', { name: 'Add a rule' }).click()
    await page.getByLabel('Name or range').fill('*.example.org')
    await page.getByLabel('Ports').fill('443, 8000-8100')
    await page.getByLabel('Otherwise').selectOption('deny')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('the policy is saved').waitFor()
    await page.reload()
    await page.getByLabel('Name or range').waitFor()
    assert.equal(await page.getByLabel('Name or range').inputValue(), '*.example.org')
    assert.equal(await page.getByLabel('Ports').inputValue(), '443 8000-8100')
    await page.getByText('Nothing was denied').waitFor()
    await go(page, `#/sandboxes/${id}/files?file=/workspace/poem.txt`)
    await page.getByLabel('Compare with').selectOption({ index: 1 })
    await page.getByText('Changes since the snapshot').waitFor()
    await page.locator('.cm-deletedChunk', { hasText: 'red' }).waitFor()
    await page.locator('.cm-changedLine', { hasText: 'blue' }).waitFor()
    // Marks that change what a line seems to say are shown by name.
    await page.locator('.cm-specialChar[title*="right-to-left override"]').first().waitFor()
    await go(page, '#/webhooks')
    await page.getByText('No webhooks').waitFor()
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill('ftp://hooks.example/iii')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor() // the server's words
    await page.getByLabel('URL').fill('https://hooks.example/iii')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('whsec_').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'https://hooks.example/iii' }).click()
    await page.getByText('Nothing waits').waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    await page.getByRole('region', { name: 'Webhook', exact: true }).getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks').waitFor()
  },

  // What an administrator looks at: the engine and the audit log.
  async admin() {
    allow(/status of 502/)
    const page = await open('#/engine')
    await page.getByLabel('Filter').fill('functions::info')
    await page.getByText('No function matches').waitFor() // the engine's own are hidden
    await page.getByLabel('Filter').fill('volume::create')
    await page.getByRole('button', { name: 'volume::create', exact: true }).click()
    const detail = page.getByRole('region', { name: 'Function', exact: true })
    await detail.getByRole('rowheader', { name: 'name' }).waitFor()
    assert.match(await detail.getByLabel('Payload, JSON').inputValue(), /"name": ""/)
    await detail.getByRole('button', { name: 'Call it' }).click()
    await detail.getByRole('alert').waitFor() // an empty name
    await detail.getByLabel('Payload, JSON').fill('{"name": "called"}')
    await detail.getByRole('button', { name: 'Call it' }).click()
    await detail.getByLabel('Answer').getByText('"name": "called"').waitFor()
    await page.getByLabel('Filter').fill('')
    await page.getByRole('button', { name: 'workers', exact: true }).click()
    await page.getByRole('region', { name: 'Workers' }).getByText('iii-sandbox').first().waitFor()
    await page.getByRole('button', { name: 'triggers', exact: true }).click()
    await page.getByText('No triggers').waitFor()
    await go(page, '#/audit?operation=function::')
    await page.getByRole('button', { name: 'function::call' }).first().click()
    await page.getByRole('heading', { name: /^Line \d+$/ }).waitFor()
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('the chain is intact').waitFor()
    await page.getByLabel('Operation').fill('no::such')
    await page.getByText('No line matches').waitFor()
  },

  // Every screen, light and dark and on a phone: nothing serious for axe. argv: a sandbox, and a folder for the pictures or ''.
  async screens() {
    const [id, folder] = args
    const places = { overview: '#/', sandboxes: '#/sandboxes', create: '#/sandboxes?create=1', sandbox: `#/sandboxes/${id}`, terminal: `#/sandboxes/${id}/terminal`,
      files: `#/sandboxes/${id}/files?file=/workspace/fib.py`, notebook: `#/sandboxes/${id}/notebook`, processes: `#/sandboxes/${id}/processes`, activity: `#/sandboxes/${id}/activity`,
      queue: `#/sandboxes/${id}/queue`, egress: `#/sandboxes/${id}/egress`, alerts: `#/sandboxes/${id}/alerts`, snaps: `#/sandboxes/${id}/snapshots`,
      engine: '#/engine?fn=sandbox::exec', workers: '#/engine?view=workers', triggers: '#/engine?view=triggers', audit: '#/audit', webhooks: '#/webhooks', tenants: '#/tenants', ports: `#/sandboxes/${id}/ports`, images: '#/images', snapshots: '#/snapshots', volumes: '#/storage', networks: '#/networks', templates: '#/templates', events: '#/events',
      traces: '#/traces', tokens: '#/tokens', nowhere: '#/nowhere' }
    const looks = { light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, phone: { colorScheme: 'light', viewport: { width: 360, height: 740 } } }
    for (const [look, options] of Object.entries(looks)) {
      const page = await open('#/', options)
      for (const [place, hash] of Object.entries(places)) {
        if (look === 'dark' && !folder && place !== 'sandbox') continue
        await go(page, hash)
        await page.waitForFunction(() => !document.querySelector('.loading'))
        if (place === 'files' || place === 'notebook') await page.locator('.cm-content').waitFor()
        if (place === 'terminal') await page.locator('.xterm-screen').waitFor()
        await page.waitForTimeout(folder ? 1200 : 150)
        if (look !== 'phone') await axe(page)
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1)
        assert.ok(!wide, `${place} is wider than a ${look} screen`)
        if (folder && look !== 'phone') await page.screenshot({ path: `${folder}/console-${place}-${look}.png` })
      }
      await page.context().close()
    }
  },

  // Names and output that want to be markup stay text. argv: a sandbox whose name, files and process are hostile.
  async hostile() {
    const [id] = args
    const page = await open('#/sandboxes')
    let ran = false
    await page.exposeFunction('ranScript', () => (ran = true))
    await page.getByRole('link', { name: /<img src=x/ }).first().waitFor()
    for (const tab of ['', '/files', '/processes', '/activity', '/notebook']) {
      await go(page, `#/sandboxes/${id}${tab}`)
      await page.waitForFunction(() => !document.querySelector('.loading'))
      await page.waitForTimeout(300)
    }
    await page.locator('.cm-content').click()
    await page.keyboard.type("from IPython.display import HTML\n") // absent in the preset: the error is text, too
    await page.keyboard.press('Shift+Enter')
    await page.locator('.output .stderr').waitFor()
    assert.equal(await page.locator('main img[src="x"]').count(), 0)
    assert.equal(ran, false)
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined)
  },

  // Two roles and a server with tokens. argv: an admin's token, a user's, a reader's.
  async roles() {
    const [admin, user, reader] = args
    allow(/status of 40[13]/)
    const page = await open('#/sandboxes')
    await page.getByRole('dialog', { name: 'Log in' }).waitFor()
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').getByText('Invalid token').waitFor()
    await logIn(page, admin)
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page.getByRole('button', { name: 'New token' }).waitFor()
    await page.getByRole('link', { name: 'Tenants' }).click()
    await page.getByRole('cell', { name: 't1', exact: true }).waitFor()
    await page.getByRole('cell', { name: /1 of 3$/ }).waitFor() // sandboxes of its quota
    const cookies = await page.context().cookies()
    assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite })), [{ name: 'iii_session', httpOnly: true, sameSite: 'Strict' }])
    // The cookie alone, as another port of this host would get it, opens nothing.
    const alone = await fetch(`${base}/sandbox/sandboxes`, { headers: { Cookie: `iii_session=${cookies[0].value}` } })
    assert.equal(alone.status, 401)
    await page.getByRole('button', { name: 'log out' }).click()
    await page.getByRole('dialog', { name: 'Log in' }).waitFor()
    await logIn(page, user)
    await page.getByRole('link', { name: 'Sandboxes' }).click()
    await page.locator('table[aria-rowcount="1"]').getByRole('link', { name: 'mine' }).waitFor() // the admin's is of another tenant
    assert.equal(await page.getByRole('link', { name: 'Tokens' }).count(), 0)
    // The list, which is asked for again and again, is refused before the page that logs out is loaded again: it asks for no token.
    await page.route('**/console/session', async (route) => {
      if (route.request().method() !== 'DELETE') return route.fallback()
      const response = await route.fetch()
      await page.waitForResponse((r) => r.status() === 401)
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
      assert.equal(await page.getByRole('dialog').count(), 0, 'a dialog that will go')
      await route.fulfill({ response })
    })
    await page.getByRole('button', { name: 'log out' }).click()
    await page.getByRole('dialog', { name: 'Log in' }).waitFor()
    await logIn(page, reader)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('alert').waitFor() // the server's own words
  },
}

await main(scenarios)
