/**
 * A passkey's answer (WebAuthn Level 3, 7.2), as server and signer check it, with node:crypto alone.
 */

/** As the browser gave it. */
export interface Assertion {
  readonly authenticatorData: Uint8Array
  /** `clientDataJSON`, byte for byte. */
  readonly clientData: Uint8Array
  readonly signature: Uint8Array
}

/** Whose answer is expected: a passkey, and the pages it may be used on. */
export interface Credential {
  /** COSE_Key, as the authenticator gave it. */
  readonly publicKey: Uint8Array
  /** The relying party's id: the dashboard's hostname. */
  readonly rpId: string
  /** The dashboard's origin. */
  readonly origin: string
}

export type AssertionVerdict =
  | {
      readonly kind: 'valid'
      /** The authenticator's; 0 where it keeps none. */
      readonly counter: number
    }
  | {
      readonly kind: 'invalid'
      readonly reason:
        | 'malformed'
        | 'not_an_assertion'
        | 'other_challenge'
        | 'other_origin'
        | 'other_relying_party'
        | 'not_verified'
        | 'bad_signature'
        | 'counter_went_back'
    }
