export interface Session {
  id: string
  user_id: string
  created_at: number
  expires_at: number
}
