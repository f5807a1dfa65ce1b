/** Notes of people on a payment or a customer. */
import {
  type AccountId,
  type CustomerId,
  type NoteId,
  newId,
  type PaymentId,
  type UserId,
} from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows, anyRow } from '../db/rows.ts'

export type NoteSubject =
  | { readonly kind: 'payment'; readonly id: PaymentId }
  | { readonly kind: 'customer'; readonly id: CustomerId }

export interface Note {
  readonly id: NoteId
  readonly text: string
  /** Who wrote it. */
  readonly userId: UserId
  readonly name: string
  readonly createdAt: Date
}

export const NOTE_LENGTH_MAX = 2_000
/** Of one subject, shown at once: notes are for people. */
const NOTES_MAX = 100

/** The newest first. */
export const listNotes = (db: Queryable, accountId: AccountId, subject: NoteSubject): Promise<Note[]> =>
  allRows(
    db,
    `select n.id, n.text, n.user_id as "userId", u.name, n.created_at as "createdAt"
     from notes n join users u on u.id = n.user_id
     where n.account_id = $1 and n.subject_id = $2 and n.subject_kind = $3 order by n.id desc limit ${NOTES_MAX}`,
    [accountId, subject.id, subject.kind],
  )

export async function insertNote(
  tx: Tx,
  accountId: AccountId,
  note: { readonly subject: NoteSubject; readonly text: string; readonly userId: UserId },
): Promise<NoteId> {
  const id = newId('note')
  await tx.query(
    `insert into notes (account_id, id, subject_kind, subject_id, text, user_id) values ($1, $2, $3, $4, $5, $6)`,
    [accountId, id, note.subject.kind, note.subject.id, note.text, note.userId],
  )
  return id
}

/** @returns Whether the subject had it. */
export const deleteNote = (
  tx: Tx,
  accountId: AccountId,
  subject: NoteSubject,
  id: NoteId,
): Promise<boolean> =>
  anyRow(
    tx,
    'delete from notes where account_id = $1 and subject_id = $2 and subject_kind = $3 and id = $4',
    [accountId, subject.id, subject.kind, id],
  )
