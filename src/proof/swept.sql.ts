/** Chains with accounts: what is said to be swept has left its address, or is on its way. */
import { openSql } from '../treasury/signed-transaction.ts'

/**
 * Deposits that a sweep is said to take, unexpected ones too, at addresses that sent less than that: what is missing lies there, and nothing would
 * ever fetch it. Of ether what an address was given as gas and a sweep took counts as well; what sweeps of tokens left of gas
 * may hide as much.
 */
export const SWEPT_UNLIKE = `
  with taken as (
    select chain, address, asset, sum(atoms) as atoms from (
      select chain, address, asset, amount_atoms as atoms from deposits where booked and sweep is not null
      union all
      select chain, address, asset, atoms from unexpected_deposits where sweep is not null
      union all
      select chain, address, 'ETH', atoms from gas_funding where sweep is not null
    ) t group by chain, address, asset
  ), compared as (
    select t.chain, t.asset, t.address, t.atoms as taken,
      coalesce((select sum(case when s.asset = t.asset and s.status in ('mined', 'confirmed') then s.value_atoms else 0 end
          + case when t.asset = 'ETH' then s.paid_fee_atoms else 0 end)
        from signed_transactions s where s.chain = t.chain and s.sender = t.address and s.block_height is not null), 0)
      + coalesce((select sum(w.atoms) from swept_tokens w
          join signed_transactions s on s.chain = w.chain and s.txid = w.txid and s.block_height is not null
        where w.chain = t.chain and w.address = t.address and w.asset = t.asset), 0)
      -- On its way: planned, or signed and neither settled nor seen to have moved it.
      + coalesce((select sum(p.atoms) from sweeps p
        where p.chain = t.chain and p.address = t.address and p.asset = t.asset and p.status <> 'failed'
          and (p.replacement_set is null or exists (select from signed_transactions s
            where s.chain = p.chain and s.replacement_set = p.replacement_set and ${openSql('s')}))
          and not exists (select from signed_transactions s
            left join swept_tokens w on w.chain = s.chain and w.txid = s.txid and w.address = p.address and w.asset = p.asset
            where s.chain = p.chain and s.replacement_set = p.replacement_set and s.status in ('mined', 'confirmed')
              and (p.way = 'alone' or w.txid is not null))), 0) as sent
    from taken t
  )
  select chain, asset, 'address ' || address as subject, taken as expected, sent as found from compared where taken > sent`
