/** `/checkout.js`: opens a checkout in a dialog of the merchant's own page. */
