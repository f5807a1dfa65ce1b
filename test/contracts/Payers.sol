// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Passes its ether to the next of a path, so that payments can be nested to any depth.
contract Hop {
    function pass(address payable[] calldata path) external payable {
        if (path.length == 1) {
            (bool paid,) = path[0].call{value: msg.value}("");
            require(paid, "not paid");
        } else {
            Hop(path[0]).pass{value: msg.value}(path[1:]);
        }
    }

    receive() external payable {}
}

contract Payer {
    /// Pays each the same, in one transaction.
    function payAll(address payable[] calldata to) external payable {
        for (uint256 i = 0; i < to.length; i++) {
            (bool paid,) = to[i].call{value: msg.value / to.length}("");
            require(paid, "not paid");
        }
    }

    /// Pays and then takes the payment back by reverting: the whole transaction fails.
    function payAndRevert(address payable to) public payable {
        (bool paid,) = to.call{value: msg.value}("");
        require(paid && false, "changed my mind");
    }

    /// The same one level deeper: the transaction succeeds, the payment inside it does not.
    function tryToPay(address payable to) external payable {
        try this.payAndRevert{value: msg.value}(to) {} catch {}
    }

    /// With the 2,300 gas that old contracts give to a payment.
    function payFrugally(address payable to) external payable {
        to.transfer(msg.value);
    }

    receive() external payable {}
}

/// Ends itself in its constructor and leaves its ether to somebody.
contract Bequest {
    constructor(address payable heir) payable {
        selfdestruct(heir);
    }
}

/// Uses up all gas that a payment brings, and does not take it.
contract Burner {
    receive() external payable {
        assembly {
            invalid()
        }
    }
}
