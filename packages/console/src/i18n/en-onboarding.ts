export const onboarding = {
  "signIn.title": "Welcome to Tendon",
  "signIn.lead": "Your devices, their tools and the calls to them.",
  "signIn.field": "Token or code",
  "signIn.submit": "Sign in",
  "signIn.busy": "Signing in…",
  "signIn.hint": "To get a sign-in link, run",
  "signIn.wrong":
    "Unknown token or code. The admin token is in the file admin-token in the gateway's data folder.",
  "signIn.usedLink": "This link was already used or has expired. Run the command below to get a new one.",
  "signIn.wait": "Too many failed attempts. Wait a few seconds, then try again.",

  "signedOut.title": "You were signed out",
  "signedOut.signed_out": "You signed out in another tab, or the browser deleted its cookies.",
  "signedOut.token": "The token you signed in with was revoked or replaced, or it has expired.",
  "signedOut.idle": "Sessions end after 12 hours without use.",
  "signedOut.age": "Sessions end after 7 days.",
  "signedOut.displaced": "Too many sessions are open, and yours was idle the longest.",
  "signedOut.unknown": "The gateway does not know this session. Its storage may have been replaced.",
  "signedOut.next": "Sign in again with a token, or with a new link from the command below.",

  "firstRun.title": "No devices yet",
  "firstRun.otaLabel": "OTA address",
  "firstRun.start": "Start a virtual device",

  "reach.title": "Boards cannot reach this address",
  "reach.this_machine":
    "Only this machine can reach {host}: a board with this address would look for the gateway on itself. Start the gateway with --host 0.0.0.0 to listen on the network.",
  "reach.public_url":
    "Only this machine can reach {host}: a board with this address would look for the gateway on itself. Set http.publicUrl to this machine's address in the network of the boards.",
  "reach.unreadable":
    "The firmware cannot parse this address. Set http.publicUrl to http(s)://HOST:PORT with a host name or an IPv4 address.",
} as const;
