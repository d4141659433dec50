/**
 * The console's server side: the built page with its strict headers, and signing in. A page uses the same REST as
 * everybody; what is its own is the session, a cookie that counts under /api/v1 and nowhere else.
 */
import type { Http } from "../http.ts";
import { fileRoutes } from "./files.ts";
import { SignIn, type SignInNeeds } from "./sign-in.ts";

export type { SignIn } from "./sign-in.ts";

export async function consoleRoutes(http: Http, needs: SignInNeeds): Promise<SignIn> {
  const signIn = new SignIn(needs);
  http.decorateRequest("consoleSession", undefined);
  http.addHook("onClose", () => signIn.sessions.stop());
  await http.register(
    async (api) => {
      signIn.routes(api as unknown as Http);
    },
    { prefix: "/api/v1" },
  );
  fileRoutes(http);
  return signIn;
}
