// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The code that deposit addresses delegate to (EIP-7702) so that one transaction of the treasury sweeps many of them.
///
/// What it can do is bounded by what it is: the receiver is fixed in the bytecode, only the treasury can start a sweep,
/// there is no storage, no owner, no upgrade and no call to an address of the caller's choice except a token's
/// `transfer` to the treasury. Whoever gets hold of a signed authorisation can do nothing with it but the same.
contract SweepDelegate {
    struct Sweep {
        address account;
        /// Zero for ether.
        address token;
    }

    /// How much ether left the address that emits this, in wei. Ether has no log of its own.
    event Swept(uint256 atoms);
    /// Nothing was moved: the account does not delegate to this code, or the token refused. The others go on.
    event Left(address account, address token);

    address private immutable treasury;
    /// Where this code itself is deployed; at a delegating account `address(this)` is the account.
    address private immutable self;
    /// What the code of an account that delegates here hashes to.
    bytes32 private immutable delegation;

    constructor(address payable receiver) {
        require(receiver != address(0), "no treasury");
        treasury = receiver;
        self = address(this);
        delegation = keccak256(abi.encodePacked(hex"ef0100", address(this)));
    }

    /// Called by the treasury on this contract itself.
    function sweepAll(Sweep[] calldata sweeps) external {
        require(msg.sender == treasury, "not the treasury");
        for (uint256 i = 0; i < sweeps.length; i++) {
            (address account, address token) = (sweeps[i].account, sweeps[i].token);
            bool swept = false;
            if (account.codehash == delegation) {
                (swept,) = account.call(abi.encodeCall(this.sweep, (token)));
            }
            if (!swept) emit Left(account, token);
        }
    }

    /// Runs at a delegating account: all it has of one asset goes to the treasury.
    function sweep(address token) external {
        require(msg.sender == self, "not a sweep");
        if (token == address(0)) {
            uint256 atoms = address(this).balance;
            emit Swept(atoms);
            (bool paid,) = treasury.call{value: atoms}("");
            require(paid, "not paid");
        } else {
            (bool read, bytes memory balance) = token.staticcall(abi.encodeWithSignature("balanceOf(address)", address(this)));
            require(read && balance.length >= 32, "no balance");
            // Some tokens answer nothing, some answer false instead of failing.
            (bool paid, bytes memory answer) = token.call(
                abi.encodeWithSignature("transfer(address,uint256)", treasury, abi.decode(balance, (uint256)))
            );
            require(paid && (answer.length == 0 || abi.decode(answer, (bool))), "not paid");
        }
    }

    /// A delegating account takes ether as it did before, whatever data comes with it.
    receive() external payable {}
    fallback() external payable {}
}
