import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { testGateway } from '../../../test/gateway.ts'
import { newId, type UserSessionId } from '../../core/ids.ts'
import { findTotp, insertPasskey, listPasskeys, putTotp, takeTotpCounter } from '../../users/factors.sql.ts'
import type { Session } from '../../users/sessions.sql.ts'
import { insertUser } from '../../users/users.sql.ts'
import { removePasskey, removeTotp } from './factors.ts'
import type { Person } from './person.ts'

const gateway = await testGateway()

/** Somebody with an authenticator app and a passkey. */
async function somebody() {
  const email = `${randomBytes(6).toString('hex')}@example.com`
  return gateway.db.transaction(async (tx) => {
    const user = await insertUser(tx, { email, name: 'Ada', passwordHash: null, isOperator: false })
    assert.ok(user)
    const userId = user.id
    const session: Session = {
      ...{ id: newId('ses') as UserSessionId, userId, email, name: 'Ada', isOperator: false },
      ...{ factor: 'totp', isSteppedUp: true, hasPassword: false, hasTotp: true, hasPasskey: true },
      memberships: [],
    }
    const person: Person = { userId, email, name: 'Ada', sessionId: null, address: '127.0.0.1' }
    const [secret, credentialId, publicKey] = [randomBytes(20), randomBytes(16), randomBytes(32)]
    const draft = { userId, credentialId, publicKey, counter: 0n, transports: [], name: 'phone' }
    await insertPasskey(tx, draft)
    await putTotp(tx, session, secret)
    await takeTotpCounter(tx, userId, secret, 1)
    return { session, person }
  })
}

test('of two factors that are taken away at once the later one stays', async () => {
  for (let round = 0; round < 5; round++) {
    const { session, person } = await somebody()
    const [passkey] = await listPasskeys(gateway.db, session.userId)
    assert.ok(passkey)
    const ended = await Promise.allSettled([
      removeTotp(gateway, session, person),
      removePasskey(gateway, session, person, passkey.id),
    ])
    const reasons = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason.reason] : []))
    assert.deepEqual(reasons, ['last_factor'])
    const left = await listPasskeys(gateway.db, session.userId)
    assert.equal(left.length + ((await findTotp(gateway.db, session)) ? 1 : 0), 1)
  }
})
