import type { Gateway } from '../../flows/gateway.ts'

/** What stands before `/dashboard` in every path: the path of the dashboard's own URL. */
export const rootOf = ({ settings }: Pick<Gateway, 'settings'>): string =>
  new URL(settings.dashboardUrl).pathname.replace(/\/$/, '')
