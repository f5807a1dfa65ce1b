/** What signing for the simulated Ethereum needs to know. */
export {
  SIMULATED_ETHEREUM_CHAIN_ID as SIMULATED_CHAIN_ID,
  SIMULATED_TOKENS as SIMULATED_TOKEN_CONTRACTS,
} from './network.ts'
