/**
 * What people may do. The contract's scopes mean for a person what they mean for a key; the rest only people have.
 * One table says what each role holds: pages ask it what to show, and the server what to refuse.
 */
import { SCOPES } from '../core/scopes.ts'

export const PERMISSIONS = [
  'overview:read',
  ...SCOPES,
  'payments:resolve',
  'payments:refund',
  'approvals:write',
  'allowlist:write',
  'exports:read',
  'sandbox:write',
  'api_keys:read',
  'api_keys:write',
  'logs:read',
  'settings:read',
  'settings:write',
  'team:read',
  'team:write',
  'audit:read',
  'ownership:write',
] as const
export type Permission = (typeof PERMISSIONS)[number]

export const ROLES = ['owner', 'admin', 'developer', 'support', 'finance', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)

const MONEY_READ: readonly Permission[] = ['balance:read', 'withdrawals:read']
const SHOP_READ: readonly Permission[] = ['payments:read', 'customers:read', 'payment_links:read']

export const PERMISSIONS_OF: Readonly<Record<Role, readonly Permission[]>> = {
  owner: PERMISSIONS,
  admin: PERMISSIONS.filter((permission) => permission !== 'ownership:write'),
  developer: [
    'overview:read',
    'payments:read',
    'payment_links:read',
    'webhooks:read',
    'webhooks:write',
    'api_keys:read',
    'api_keys:write',
    'logs:read',
    'sandbox:write',
  ],
  support: ['overview:read', ...SHOP_READ, 'customers:write', 'payments:resolve', 'payments:refund'],
  finance: [
    'overview:read',
    ...SHOP_READ,
    ...MONEY_READ,
    'withdrawals:write',
    'approvals:write',
    'allowlist:write',
    'exports:read',
  ],
  viewer: ['overview:read', ...SHOP_READ, ...MONEY_READ, 'webhooks:read', 'settings:read'],
}

export const may = (role: Role, permission: Permission): boolean => PERMISSIONS_OF[role].includes(permission)

/** Whether one may give another this role: nobody hands out more than he has. */
export const mayGrant = (granter: Role, role: Role): boolean =>
  may(granter, 'team:write') && PERMISSIONS_OF[role].every((permission) => may(granter, permission))

/** What a role is for, in the words of the team page. */
export const ROLE_PURPOSE: Readonly<Record<Role, string>> = {
  owner: 'Everything, and hands ownership over',
  admin: 'Everything but ownership',
  developer: 'API keys, webhooks, logs and the sandbox; reads payments',
  support: 'Finds and resolves payments, refunds up to a bound; customers',
  finance: 'Balance, withdrawals, approvals, allowlist and exports',
  viewer: 'Reads payments, customers and balance',
}
