/**
 * The console's server side: the built page with its strict headers, and signing in. A page uses the same REST as
 * everybody; what is its own is the session, a cookie that counts under /api/v1 and nowhere else.
 */
import type { Tokens } from "../../access/access.ts";
import type { Http } from "../http/http.ts";
import {
  cookieName as cookieNameOf,
  HttpAuthentication,
  type SessionStorage,
  Sessions,
} from "../http/http.ts";
import { fileRoutes } from "./files.ts";
import { type InsightNeeds, insightRoutes } from "./insights.ts";
import { Overview, type OverviewNeeds } from "./overview.ts";
import { SignIn, type SignInNeeds } from "./sign-in.ts";

export { valueWithoutSecrets } from "./masking.ts";

export type ConsoleNeeds = Omit<SignInNeeds, "http" | "cookieName"> &
  OverviewNeeds &
  Omit<InsightNeeds, "overview"> & {
    readonly tokens: Pick<Tokens, "current" | "credentialOf" | "onRevoked">;
    readonly sessionStorage: SessionStorage;
    readonly instanceId: string;
  };

export interface Console {
  readonly authentication: HttpAuthentication;
  /** A link that opens the console and signs in, once. */
  link(principalId: string): string;
  /** What belongs to those who are signed in. */
  routes(http: Http): void;
}

export async function consoleRoutes(http: Http, needs: ConsoleNeeds): Promise<Console> {
  const { clock, events, tokens, authentication } = needs;
  const sessions = new Sessions({
    clock,
    storage: needs.sessionStorage,
    current: (id) => tokens.current(id),
    credentialOf: (id) => tokens.credentialOf(id),
    onRevoked: (listener) => tokens.onRevoked(listener),
  });
  await sessions.load();
  const cookieName = cookieNameOf(needs.instanceId);
  const consoleUrl = () => needs.about().url;
  const httpAuthentication = new HttpAuthentication({
    authentication,
    events,
    sessions,
    cookieName,
    consoleUrl,
  });
  const signIn = new SignIn({ ...needs, http: httpAuthentication, cookieName });
  const overview = new Overview(needs);
  http.decorateRequest("consoleSession", undefined);
  http.addHook("onClose", async () => {
    overview.stop();
    await sessions.stop();
  });
  await http.register(
    async (api) => {
      signIn.routes(api as unknown as Http);
    },
    { prefix: "/api/v1" },
  );
  fileRoutes(http);
  return {
    authentication: httpAuthentication,
    link: (principalId) => signIn.link(principalId).url,
    routes: (signedIn) => insightRoutes(signedIn, { ...needs, overview }),
  };
}
