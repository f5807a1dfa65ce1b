/** The one sentence that changes with a number: how many of so many confirmations, by the plural of those that are needed. */

type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>

export const CONFIRMATIONS: Readonly<Record<string, Forms>> = {
  en: { one: '{n} of {m} confirmation', other: '{n} of {m} confirmations' },
  de: { one: '{n} von {m} Bestätigung', other: '{n} von {m} Bestätigungen' },
  fr: { one: '{n} sur {m} confirmation', other: '{n} sur {m} confirmations' },
  es: { one: '{n} de {m} confirmación', other: '{n} de {m} confirmaciones' },
  pt: { one: '{n} de {m} confirmação', other: '{n} de {m} confirmações' },
  ja: { other: '承認 {n} / {m}' },
  zh: { other: '已确认 {n} / {m}' },
  ar: {
    one: '{n} من تأكيد واحد',
    two: '{n} من تأكيدين',
    few: '{n} من {m} تأكيدات',
    many: '{n} من {m} تأكيدًا',
    other: '{n} من {m} تأكيد',
  },
}
