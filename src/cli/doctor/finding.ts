/** One thing that `beck doctor` looked at. */
export interface Finding {
  readonly about: string
  readonly state: 'fine' | 'warning' | 'wrong'
  readonly message: string
  /** What to do; only when it is not fine. */
  readonly advice?: string
}

export const fine = (about: string, message: string): Finding => ({ about, state: 'fine', message })

/** Beck runs, but somebody should look. */
export const warning = (about: string, message: string, advice: string): Finding => ({
  about,
  state: 'warning',
  message,
  advice,
})

/** Something does not work. */
export const wrong = (about: string, message: string, advice: string): Finding => ({
  about,
  state: 'wrong',
  message,
  advice,
})
