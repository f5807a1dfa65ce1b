// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Like USDC: 6 decimals, answers true, and neither gives to nor takes from those it blocks. Anybody may move zero out of anybody's account, as ERC-20 allows. A second
/// deployment is the fake token of the same symbol.
contract UsdCoin {
    string public constant symbol = "USDC";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor() {
        balanceOf[msg.sender] = 1e15;
        emit Transfer(address(0), msg.sender, 1e15);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function addBlackList(address account) external {
        isBlackListed[account] = true;
    }

    function removeBlackList(address account) external {
        isBlackListed[account] = false;
    }

    function move(address from, address to, uint256 value) private {
        require(!isBlackListed[from] && !isBlackListed[to]);
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// Like USDT on mainnet: transfer and approve answer nothing at all, and the owner can turn on a fee of every transfer.
contract TetherToken {
    string public constant symbol = "USDT";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);

    address private owner = msg.sender;
    uint256 public basisPointsRate;

    constructor() {
        balanceOf[msg.sender] = 1e15;
    }

    function setParams(uint256 newBasisPoints) external {
        basisPointsRate = newBasisPoints;
    }

    function transfer(address to, uint256 value) external {
        require(!isBlackListed[msg.sender]);
        uint256 fee = value * basisPointsRate / 10000;
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - fee;
        if (fee > 0) {
            balanceOf[owner] += fee;
            emit Transfer(msg.sender, owner, fee);
        }
        emit Transfer(msg.sender, to, value - fee);
    }

    function addBlackList(address account) external {
        isBlackListed[account] = true;
    }
}

/// Emits what looks like transfers and is none: other shapes of the same event, from a contract of its own.
contract OddLogs {
    function emitOdd(address to) external {
        bytes32 topic = keccak256("Transfer(address,address,uint256)");
        bytes32 from = bytes32(uint256(uint160(msg.sender)));
        bytes32 receiver = bytes32(uint256(uint160(to)));
        bytes32 dirty = receiver | bytes32(uint256(1) << 200);
        assembly {
            mstore(0, 5000000)
            log4(0, 0, topic, from, receiver, 7)
            log3(0, 0, topic, from, receiver)
            log3(0, 31, topic, from, receiver)
            log3(0, 64, topic, from, receiver)
            log3(0, 32, topic, from, dirty)
            log2(0, 32, topic, from)
            log1(0, 32, topic)
            log0(0, 32)
        }
    }
}
