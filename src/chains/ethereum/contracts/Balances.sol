// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Reads what many addresses hold in one eth_call. It is never deployed: a node runs the constructor, which answers with one
/// word for each address and asset: ether first, then the tokens in the order given.
///
/// It reverts with its answer, for what a constructor returns is paid for as code: 1,530 gas a byte since Amsterdam (EIP-8037).
/// Where what stands before a node drops that, it returns the answer, which then has to stay below the 24,576 bytes that deployed
/// code may have (EIP-170).
contract Balances {
    constructor(address[] memory accounts, address[] memory tokens, bool reverts) {
        uint256 assets = tokens.length + 1;
        uint256[] memory held = new uint256[](accounts.length * assets);
        for (uint256 i = 0; i < accounts.length; i++) {
            held[i * assets] = accounts[i].balance;
            for (uint256 t = 0; t < tokens.length; t++) {
                held[i * assets + 1 + t] = balanceOf(tokens[t], accounts[i]);
            }
        }
        assembly {
            let size := mul(mload(held), 32)
            if reverts { revert(add(held, 32), size) }
            return(add(held, 32), size)
        }
    }

    /// Nobody holds anything of a token that is not deployed. One that is there and does not answer fails the whole
    /// reading: silence is not zero.
    function balanceOf(address token, address account) private view returns (uint256) {
        if (token.code.length == 0) return 0;
        (bool answered, bytes memory data) = token.staticcall(abi.encodeWithSignature("balanceOf(address)", account));
        require(answered && data.length >= 32, "balanceOf failed");
        return abi.decode(data, (uint256));
    }
}
