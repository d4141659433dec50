/** The addresses of the console's pages. The gateway serves the console there, and the console routes by them. */
export const consolePaths = {
  fleet: "/",
  signIn: "/sign-in",
  device: "/devices/:device",
  calls: "/calls",
  call: "/calls/:call",
  approvals: "/approvals",
  home: "/home",
  voice: "/voice",
  firmware: "/firmware",
  overview: "/overview",
  connect: "/connect",
  tokens: "/tokens",
  webhooks: "/webhooks",
  voiceAgents: "/voice-agents",
  audit: "/audit",
  settings: "/settings",
  guides: "/guides",
  guide: "/guides/:guide",
} as const;

/** Requests of the console that change something have this header, which neither a form nor a foreign page can send. */
export const consoleHeader = "x-tendon-console";

/** The header's value for a request that an open page makes automatically. Other values are the page's own request ids. */
export const automaticRequest = "automatic";

/** In the history, automatic status reads of the console have the principal `console:NAME`. No token can have such a name. */
export const automaticPrefix = "console:";
