import type * as real from '../../../src/treasury/sweeps.sql.ts'

/** Nothing is swept in a story. */
export const listSweepCandidates: typeof real.listSweepCandidates = async () => []
export const planSweep: typeof real.planSweep = async () => false
export const markFunded: typeof real.markFunded = async () => {}
export const finishSweeps: typeof real.finishSweeps = async () => {}
export const listSweptAddresses: typeof real.listSweptAddresses = async () => []
export const markSwept: typeof real.markSwept = async () => {}
export const wantDelegate: typeof real.wantDelegate = async () => {}
export const recordSwept: typeof real.recordSwept = async () => {}
export const sumUnswept: typeof real.sumUnswept = async () => []
export const isSweepDelegate: typeof real.isSweepDelegate = async () => false
