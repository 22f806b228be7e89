export { isDark } from '../preferences.ts'
