var o=()=>location.replace(location.href);setTimeout(o,15e3);addEventListener("online",o);
