export const entrance = {
  "signIn.title": "Welcome to Tendon",
  "signIn.lead": "Your devices, what they can do, and who asked them to.",
  "signIn.field": "Token or code",
  "signIn.submit": "Sign in",
  "signIn.busy": "Signing in…",
  "signIn.hint": "A link that signs you in is printed by",
  "signIn.wrong":
    "This gateway does not know that token or code; its administrator's token is in the file admin-token of its data folder.",
  "signIn.usedLink": "This link has been used or is too old; the command below prints a new one.",
  "signIn.wait": "Too many wrong tries from here; wait a few seconds, then try again.",

  "signedOut.title": "You were signed out",
  "signedOut.signed_out": "You signed out in another tab, or the browser deleted its cookies.",
  "signedOut.token": "The token you signed in with was revoked or replaced, or it has expired.",
  "signedOut.idle": "Sessions end after 12 hours without use.",
  "signedOut.age": "Sessions end after 7 days.",
  "signedOut.displaced": "Too many people are signed in. Your session was idle for the longest time.",
  "signedOut.unknown": "The gateway does not know your session. Its storage may have been replaced.",
  "signedOut.next": "Sign in again with a token, or with a new link from the command below.",

  "firstRun.title": "No devices yet",
  "firstRun.board":
    "Type this OTA address into the settings page of a board with the xiaozhi firmware. The board appears here automatically.",
  "firstRun.otaLabel": "OTA address",
  "firstRun.demo": "No board on the desk? A virtual one behaves the same.",
  "firstRun.start": "Start a virtual device",

  "reach.title": "Boards cannot reach this address",
  "reach.this_machine":
    "{host} is this machine only: a board that is given this address looks for the gateway on itself. Start the gateway with --host 0.0.0.0 to listen on the network.",
  "reach.public_url":
    "{host} is this machine only: a board that is given this address looks for the gateway on itself. Set http.publicUrl to this machine's address in the boards' network.",
  "reach.unreadable":
    "The firmware cannot read this address. Set http.publicUrl to http(s)://HOST:PORT with a plain name or an IPv4 address.",
} as const;
