/** One thing that `beck doctor` looked at. */
export interface Finding {
  readonly about: string
  readonly state: 'fine' | 'warning' | 'wrong'
  readonly message: string
  /** What to do; only when it is not fine. */
  readonly advice?: string
}

export const fine = (about: string, message: string): Finding => ({ about, state: 'fine', message })

const bad =
  (state: 'warning' | 'wrong') =>
  (about: string, message: string, advice: string): Finding => ({ about, state, message, advice })

/** Beck runs, but somebody should look. */
export const warning = bad('warning')

/** Something does not work. */
export const wrong = bad('wrong')
