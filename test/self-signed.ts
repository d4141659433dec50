import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

const openssl = "openssl";

/** A certificate for 127.0.0.1 and its key, as files that go with the test. */
export function selfSigned(): { readonly cert: string; readonly key: string } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-tls-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  const [cert, key] = [path.join(folder, "cert.pem"), path.join(folder, "key.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync(openssl, ["req", "-x509", ...curve, ...subject, "-days", "2", "-keyout", key, "-out", cert], {
    stdio: "ignore",
  });
  return { cert, key };
}
