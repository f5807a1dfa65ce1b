/** How an action of the dashboard is pressed in a browser, and what is seen afterwards. */
import type { Page } from 'playwright-core'
import type { Actor } from './actor.ts'
import type { Scene } from './scene.ts'

/** A text that is typed, a choice by its word, a box that is on or off, a file. */
export type Value =
  | string
  | boolean
  | { readonly name: string; readonly mimeType: string; readonly buffer: Buffer }

export interface Press {
  /** Where the form is, and where it leads: below the origin. */
  readonly page: string
  readonly action: string
  /** Which of several buttons, by its words; the first one of the form when left out. */
  readonly button?: string
  /** In the order of the page. A function reads them off the page. */
  readonly fields?: Fields | ((page: Page) => Promise<Fields>)
  /** In the page's content once it is done. */
  readonly seen: string | RegExp
  /** Asked by a script while the fields are filled in: awaited before the button. */
  readonly quote?: string
  /** Pressed before, where the form is on the page that another form leads to. */
  readonly first?: Press
}

export type Fields = Readonly<Record<string, Value>>

/** `keyboard` and `mouse` have a script, `phone` has none. */
export type WayName = 'keyboard' | 'mouse' | 'phone'

export interface Story {
  /** Makes what the action needs: each press has its own. */
  open(scene: Scene, actor: Actor, way: WayName): Promise<Press>
  /** By somebody who never was here before, in a browser of his own. */
  readonly isAlone?: true
  /** He has a passkey on his device; without a script there is none, so nobody presses it on the phone. */
  readonly hasPasskey?: true
  /** Signed out before he comes to the page. */
  readonly isSignedOut?: true
}

/** Asked by a script while another form is filled in or sent: heard then. */
export interface Heard {
  readonly heardWith: string
}

export type Stories = Readonly<Record<string, Story | Heard>>

export const isHeard = (story: Story | Heard): story is Heard => 'heardWith' in story
