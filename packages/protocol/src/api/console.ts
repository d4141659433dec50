/** The addresses of the console's pages: the gateway serves the page there, and the page finds its way by them. */
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
  guide: "/guides/:guide",
} as const;

/** A page's requests that change something carry this header, which no form and no foreign page can send. */
export const consoleHeader = "x-tendon-console";
