/** What becomes of a sweep when what carries it out, or what gives it gas, settles. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../core/time.ts'
import { type Deployment, type EndingSweep, mayDeployAgain, type SweepStatus, sweepEnd } from './sweep.ts'

/** Status, way, whose transaction settled, whether it moved tokens, whether it reverted: what the sweep is then. */
const TABLE: readonly (readonly [
  SweepStatus,
  EndingSweep['way'],
  'its own' | 'its gas',
  boolean,
  boolean,
  SweepStatus,
])[] = [
  ['sweeping', 'alone', 'its own', false, false, 'done'],
  ['sweeping', 'alone', 'its own', false, true, 'failed'],
  ['sweeping', 'batch', 'its own', true, false, 'done'],
  ['sweeping', 'batch', 'its own', false, false, 'failed'],
  ['sweeping', 'batch', 'its own', true, true, 'failed'],
  // A reorganisation made it run again.
  ['done', 'batch', 'its own', true, false, 'done'],
  ['done', 'batch', 'its own', false, false, 'failed'],
  ['done', 'alone', 'its own', false, true, 'failed'],
  // Gas that arrives is not the sweep; gas that can not arrive ends it.
  ['funding', 'alone', 'its gas', false, false, 'funding'],
  ['funded', 'alone', 'its gas', false, false, 'funded'],
  ['funding', 'alone', 'its gas', false, true, 'failed'],
  ['funded', 'alone', 'its gas', false, true, 'failed'],
  // Another sweep took its place.
  ['failed', 'batch', 'its own', true, false, 'failed'],
  ['failed', 'alone', 'its gas', false, true, 'failed'],
]

for (const [status, way, settled, hasMoved, reverted, becomes] of TABLE)
  test(`a sweep ${way} that is ${status}, when ${settled} ${reverted ? 'reverted' : 'settled'}${hasMoved ? ' and moved tokens' : ''}, is ${becomes}`, () =>
    assert.equal(sweepEnd({ status, way, isSwept: settled === 'its own', hasMoved }, reverted), becomes))

/** What was signed to deploy a contract that is not there, by status and age in days: whether it may be deployed anew. */
const DEPLOYMENTS: readonly (readonly [readonly (readonly [Deployment['status'], number])[], boolean])[] = [
  [[['reverted', 1]], true],
  [[['reverted', 0.9]], false],
  [
    [
      ['reverted', 2],
      ['displaced', 2],
    ],
    true,
  ],
  [
    [
      ['reverted', 2],
      ['displaced', 0.5],
    ],
    false,
  ],
  [[['impossible', 1]], true],
  // It may still be mined, or is there after all.
  [[['sent', 2]], false],
  [[['mined_reverted', 2]], false],
  [[['refused', 9]], false],
  [
    [
      ['displaced', 2],
      ['confirmed', 2],
    ],
    false,
  ],
]

for (const [deployments, may] of DEPLOYMENTS)
  test(`a delegate whose deployment is ${deployments.map(([status, days]) => `${status} for ${days} days`).join(' and ')} is ${may ? '' : 'not '}deployed again`, () =>
    assert.equal(
      mayDeployAgain(deployments.map(([status, days]) => ({ status, ageMs: days * DAY_MS }))),
      may,
    ))
