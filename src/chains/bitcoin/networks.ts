/**
 * What is fixed about each network of Bitcoin and Litecoin Core (their src/kernel/chainparams.cpp): the genesis block
 * that names it, the name its node answers with, and the prefixes of addresses (BIP-13, BIP-173, SLIP-173).
 */
import type { Network } from '../../core/assets.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts'

export type BitcoinLike = Extract<Network, 'bitcoin' | 'litecoin'>

export interface BitcoinNetwork {
  /** `chain` in the answer to getblockchaininfo. */
  readonly chainName: string
  readonly genesisHash: string
  /** A later block that tells the network from a fork of it with the same genesis. */
  readonly checkpoint?: { readonly height: number; readonly hash: string }
  /** Where Core listens for JSON-RPC unless told otherwise. */
  readonly rpcPort: number
  /** Human-readable part of segwit addresses. */
  readonly bech32: string
  /** Version bytes of base58 addresses; the last script version is the one written today, all are read. */
  readonly pubKeyHash: number
  readonly scriptHashes: readonly number[]
  /** Blocks appear only when somebody asks for them, and having no peers is normal. */
  readonly isPrivate: boolean
  /**
   * A node whose last block is older sees none any more: 18 times the time between two blocks. By chance no block comes for so
   * long once in e^18, 66 million, blocks: every 1,250 years on Bitcoin, every 310 on Litecoin. While half of all miners are
   * gone it is once in e^9, three times a year on Bitcoin, thirteen on Litecoin: the coin is then refused until the next block. Absent where blocks come irregularly.
   */
  readonly tipAgeMsMax?: number
  /** Its blocks are full: what offers too little waits for days. Elsewhere what relays is mined. */
  readonly hasFeeMarket: boolean
}

const BITCOIN_TEST = {
  bech32: 'tb',
  pubKeyHash: 0x6f,
  scriptHashes: [0xc4],
  isPrivate: false,
  hasFeeMarket: false,
}

export const BITCOIN_NETWORKS = {
  bitcoin: {
    mainnet: {
      chainName: 'main',
      genesisHash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
      // The first block after Bitcoin Cash parted: it shares the genesis and all before.
      checkpoint: {
        height: 478_559,
        hash: '00000000000000000019f112ec0a9982926f1258cdcc558dd7c3b7e5dc7fa148',
      },
      rpcPort: 8332,
      bech32: 'bc',
      pubKeyHash: 0x00,
      scriptHashes: [0x05],
      isPrivate: false,
      tipAgeMsMax: 3 * HOUR_MS,
      hasFeeMarket: true,
    },
    testnet: {
      ...BITCOIN_TEST,
      chainName: 'test',
      genesisHash: '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943',
      rpcPort: 18332,
    },
    testnet4: {
      ...BITCOIN_TEST,
      chainName: 'testnet4',
      genesisHash: '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043',
      rpcPort: 48332,
    },
    signet: {
      ...BITCOIN_TEST,
      chainName: 'signet',
      genesisHash: '00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6',
      rpcPort: 38332,
    },
    regtest: {
      ...BITCOIN_TEST,
      chainName: 'regtest',
      genesisHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
      rpcPort: 18443,
      bech32: 'bcrt',
      isPrivate: true,
    },
  },
  litecoin: {
    mainnet: {
      chainName: 'main',
      genesisHash: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2',
      rpcPort: 9332,
      bech32: 'ltc',
      pubKeyHash: 0x30,
      scriptHashes: [0x05, 0x32],
      isPrivate: false,
      tipAgeMsMax: 45 * MINUTE_MS,
      hasFeeMarket: false,
    },
    testnet: {
      chainName: 'test',
      genesisHash: '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0',
      rpcPort: 19332,
      bech32: 'tltc',
      pubKeyHash: 0x6f,
      scriptHashes: [0xc4, 0x3a],
      isPrivate: false,
      hasFeeMarket: false,
    },
    regtest: {
      chainName: 'regtest',
      genesisHash: '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9',
      rpcPort: 19443,
      bech32: 'rltc',
      pubKeyHash: 0x6f,
      scriptHashes: [0xc4, 0x3a],
      isPrivate: true,
      hasFeeMarket: false,
    },
  },
} as const satisfies Record<BitcoinLike, Record<string, BitcoinNetwork>>

/**
 * The parameters of a network by the name the operator wrote in `BITCOIN_NETWORK` or `LITECOIN_NETWORK`.
 *
 * @throws {RangeError} naming the networks there are.
 */
export function bitcoinNetwork(chain: BitcoinLike, name: string): BitcoinNetwork {
  const networks: Readonly<Record<string, BitcoinNetwork>> = BITCOIN_NETWORKS[chain]
  const network = Object.hasOwn(networks, name) ? networks[name] : undefined
  if (!network) {
    throw new RangeError(
      `${chain} has no network "${name}"; it is one of ${Object.keys(networks).join(', ')}`,
    )
  }
  return network
}
