/** What axe, the examiner of accessibility, finds on a page. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What another colour, direction or width changes; the rest is in the markup, and the same in each. */
export const LOOKS = ['color-contrast', 'target-size', 'scrollable-region-focusable', 'link-in-text-block']

interface Examined {
  /** Rules that are looked at alone, or groups of them; everything that axe has a rule for when left out. */
  readonly only?: readonly string[]
  /** Rules that are not looked at. */
  readonly not?: readonly string[]
}

/**
 * It is evaluated from outside, since Beck's pages run no script but their own.
 *
 * @returns Each rule that is broken, with the elements that break it.
 */
export async function axeFindings(page: Page, { only, not = [] }: Examined = {}): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source)
  const options = {
    // What is well needs no report, which takes a good part of axe's time.
    resultTypes: ['violations'],
    ...(only ? { runOnly: only } : {}),
    rules: Object.fromEntries(not.map((rule) => [rule, { enabled: false }])),
  }
  return page.evaluate<string[]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`,
  )
}
