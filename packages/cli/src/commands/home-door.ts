/** What the home commands use of the simulator, named in one place. */
export {
  HomeCallError,
  type HomeNotice,
  type HomeServer,
  HomeSettingsError,
  HomeStateError,
  type OpenedHome,
  openHome,
  type SettingsProblem,
  serveHome,
  standardInput,
} from "@tendon/simulator/home";
