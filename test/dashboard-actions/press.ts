/** Presses buttons of the dashboard: with a mouse, with a finger, or with nothing but the keyboard. */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { PASSWORD } from './actor.ts'
import type { Fields, Press, Value, WayName } from './story.ts'

/** More stops than any page has. */
const STOPS_MAX = 250
const WAIT_MS = 15_000
export const LOADED = { waitUntil: 'domcontentloaded' } as const

interface Hands {
  fill(field: Locator, value: Value): Promise<void>
  /** A button, a summary, a link. */
  push(control: Locator): Promise<void>
}

/** Does the whole of it, and waits until the page says that it is done. */
export async function doPress(page: Page, origin: string, way: WayName, press: Press): Promise<void> {
  if (press.first) await doPress(page, origin, way, press.first)
  if (press.first?.page !== press.page) await page.goto(origin + press.page, LOADED)
  const hands = way === 'keyboard' ? keyboardOf(page) : pointerOf(page, way === 'phone')
  // A list below the same path has a form that filters it.
  const forms = page.locator(`form[method=post][action="${press.action}"]`)
  const button = press.button
    ? forms.getByRole('button', { name: press.button, exact: true, includeHidden: true })
    : forms.locator('button[type=submit]')
  await button.first().waitFor({ state: 'attached', timeout: WAIT_MS })
  const form = button.first().locator('xpath=ancestor::form')
  await reveal(page, form, hands)
  const fields = typeof press.fields === 'function' ? await press.fields(page) : press.fields
  const quote =
    press.quote && way !== 'phone'
      ? page.waitForResponse(`${origin}${press.quote}`, { timeout: WAIT_MS })
      : null
  await fillAll(form, fields ?? {}, hands)
  await quote
  await leave(page, hands, button.first())
  await see(page, press, hands)
}

/** Every action leads to another page: waiting for it is quicker than looking again and again. */
async function leave(page: Page, hands: Hands, button: Locator): Promise<void> {
  const loaded = page.waitForEvent('domcontentloaded', { timeout: WAIT_MS })
  await Promise.all([loaded, hands.push(button)])
}

async function fillAll(form: Locator, fields: Fields, hands: Hands): Promise<void> {
  for (const [name, value] of Object.entries(fields))
    await hands.fill(form.locator(`[name="${name}"]`).first(), value)
}

/** What is folded away is opened as people open it. */
async function reveal(page: Page, form: Locator, hands: Hands): Promise<void> {
  const folded = page.locator('details:not([open])').filter({ has: form })
  if ((await folded.count()) > 0) await hands.push(folded.first().locator('> summary'))
  // On a phone the menu is.
  else if (!(await form.isVisible())) await hands.push(page.locator('.menu-toggle summary'))
}

/** Waits for what is to be seen, and confirms on the way to it what is asked once more. */
async function see(page: Page, { seen, action }: Press, hands: Hands): Promise<void> {
  const content = page.locator('main')
  const done = content.filter({ hasText: seen })
  const asked = content.locator(`form[action="${action}"]:has(input[name=challenge]) #code`)
  try {
    await done.or(asked).first().waitFor({ timeout: WAIT_MS })
    if ((await done.count()) === 0) {
      await hands.fill(asked, PASSWORD)
      await leave(page, hands, asked.locator('xpath=ancestor::form').locator('button'))
      await done.waitFor({ timeout: WAIT_MS })
    }
  } catch (error) {
    assert.fail(
      `${action}: "${seen}" was not seen at ${page.url()}, but: ${await content.innerText()}\n${error}`,
    )
  }
}

function pointerOf(page: Page, isTouched: boolean): Hands {
  const push = (control: Locator) => (isTouched ? control.tap() : control.click())
  return {
    push,
    async fill(field, value) {
      if (typeof value === 'boolean') await field.setChecked(value)
      else if (typeof value === 'object') await field.setInputFiles(value)
      else if (await isChoice(field)) await field.selectOption(value)
      else await field.fill(value)
      if (await page.locator('[data-quote]').count()) await field.blur()
    },
  }
}

const isChoice = (field: Locator): Promise<boolean> =>
  field.evaluate((element) => element.nodeName === 'SELECT')

function keyboardOf(page: Page): Hands {
  const { keyboard } = page
  return {
    async push(control) {
      await reach(page, control)
      await keyboard.press('Enter')
    },
    async fill(field, value) {
      await reach(page, field)
      if (typeof value === 'boolean') {
        if ((await field.isChecked()) !== value) await keyboard.press('Space')
      } else if (typeof value === 'object') {
        const chooser = page.waitForEvent('filechooser')
        await keyboard.press('Enter')
        await (await chooser).setFiles(value)
      } else {
        if (!(await isChoice(field))) await keyboard.press('Control+a')
        await keyboard.type(value)
      }
    },
  }
}

/** By Tab alone, past the menu by the link that is there for it; who gets there sees where he is. */
async function reach(page: Page, control: Locator): Promise<void> {
  const { keyboard } = page
  const target = await control.elementHandle()
  assert.ok(target)
  const where = () =>
    target.evaluate((element) => {
      const { activeElement } = element.ownerDocument
      if (activeElement === element) return 'here'
      if (activeElement?.className === 'skip' && element.closest('main')) return 'skip'
      return 'elsewhere'
    })
  let place = await where()
  for (let stops = 0; place !== 'here'; stops++) {
    assert.ok(
      stops < STOPS_MAX,
      `${await control.evaluate((element) => element.outerHTML)} is not reached by Tab`,
    )
    await keyboard.press(place === 'skip' ? 'Enter' : 'Tab')
    place = await where()
  }
  const mark = await target.evaluate((element) => {
    const style = element.ownerDocument.defaultView?.getComputedStyle(element)
    return `${style?.outlineStyle} ${style?.boxShadow}`
  })
  assert.notEqual(
    mark,
    'none none',
    `${await control.evaluate((element) => element.outerHTML)} shows no focus`,
  )
}
