/** Notes, wherever a page has them: what people wrote, a field for another one, and the two rows behind it. */
import { invalidField, notFound } from '../../core/errors.ts'
import { readId, showId } from '../../core/ids.ts'
import {
  deleteNote,
  insertNote,
  listNotes,
  NOTE_LENGTH_MAX,
  type NoteSubject,
} from '../../users/notes.sql.ts'
import type { Permission } from '../../users/permissions.ts'
import { html, type Part } from '../hosted/html.ts'
import { change } from './change.ts'
import { button, card, textarea } from './parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from './row.ts'
import { time } from './words.ts'

const subjectName = (subject: NoteSubject): string =>
  subject.kind === 'payment' ? showId('pay', subject.id) : showId('cus', subject.id)

/** @param path - Of the page that shows them. */
export async function notesCard(
  call: PlaceCall,
  subject: NoteSubject,
  path: string,
  mayWrite: boolean,
): Promise<Part> {
  const notes = await listNotes(call.gateway.db, call.place.account.id, subject)
  if (notes.length === 0 && !mayWrite) return null
  return card(
    'Notes',
    html`${notes.length > 0 && html`<ul class="rows">${notes.map((note) => html`<li><div><p class="note">${note.text}</p><span>${note.name}, ${time(note.createdAt, call.place.membership.timeZone)}</span></div>${mayWrite && button(`${path}/notes/${showId('note', note.id)}/delete`, 'Delete', { name: `Delete the note of ${note.name}` })}</li>`)}</ul>`}${mayWrite && html`<form method="post" action="${path}/notes">${textarea(call, { name: 'note', label: 'A note for your team', value: call.form.get('note'), rows: 2, required: true, maxlength: NOTE_LENGTH_MAX })}<div class="actions"><button type="submit">Add the note</button></div></form>`}`,
  )
}

/** @param at - The page's own row, `/:account/payments/:id`. */
export const noteRows = (
  permission: Permission,
  at: `/:account/${string}`,
  page: {
    subjectOf(call: PlaceCall): Promise<NoteSubject>
    draw(call: PlaceCall): Promise<Sheet>
  },
): readonly DashboardRow[] => [
  placeRow(permission, `POST ${at}/notes`, {
    async handle(call) {
      const subject = await page.subjectOf(call)
      const text = call.form.get('note').trim()
      if (text.length < 1 || text.length > NOTE_LENGTH_MAX)
        throw invalidField(
          'note',
          'invalid_note',
          `a note has 1 to ${NOTE_LENGTH_MAX} characters, got ${text.length}`,
        )
      await change(call, async (tx, record) => {
        const id = await insertNote(tx, call.place.account.id, { subject, text, userId: call.session.userId })
        // The text stays with the note: who deletes one may want it gone.
        record({ action: 'note.add', subject: subjectName(subject), after: { note: showId('note', id) } })
      })
      return { to: call.request.url.replace(/\/notes$/, ''), done: 'note-added' }
    },
    redraw: page.draw,
  }),
  placeRow(permission, `POST ${at}/notes/:note/delete`, {
    async handle(call) {
      const subject = await page.subjectOf(call)
      const id = readId('note', call.params.note ?? '')
      await change(call, async (tx, record) => {
        if (!id || !(await deleteNote(tx, call.place.account.id, subject, id)))
          throw notFound('note_not_found', 'there is no such note')
        record({ action: 'note.delete', subject: subjectName(subject), before: { note: showId('note', id) } })
      })
      return { to: call.request.url.replace(/\/notes\/[^/]*\/delete$/, ''), done: 'note-deleted' }
    },
  }),
]
